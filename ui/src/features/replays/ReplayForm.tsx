import { Button } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useMemo, useState } from "react";
import { Link, useNavigate } from "react-router";
import { useCreateReplay, useReplayPlan } from "@/api/replays";
import type { Provider, Run, RunReplayability } from "@/api/types";
import { firstWords } from "@/components/format";
import { errorsOf, type FormErrors, shownEarly } from "@/components/formErrors";
import { PageHeader } from "@/components/PageHeader";
import { ProblemPanel } from "@/components/ProblemPanel";
import { AttemptsSection, EditsSection, NOTHING, Wrong } from "./AttemptsForm";
import { isTiming, sourceStep } from "./edits";
import { LevelNotice } from "./LevelNotice";
import { MOST_ATTEMPTS, type NewReplay, replayRequest, STRENGTHS } from "./newReplay";
import { PlanPanel } from "./PlanPanel";
import { startText, unableText } from "./plan";
import classes from "./Replays.module.css";
import { readEdit } from "./readEdit";
import { OutcomeSection, ToolsSection } from "./Sections";
import { type RunStep, toolsOf } from "./steps";
import { useRecorded } from "./useRecorded";

interface Props {
  projectId: string;
  run: Run;
  steps: readonly RunStep[];
  replayability: RunReplayability;
  providers: readonly Provider[];
  start: NewReplay;
  onStarted: (id: string) => void;
}

/** The form of a replay, with what it would do and cost. */
export function ReplayForm({ projectId, run, steps, replayability, providers, start, onStarted }: Props) {
  const navigate = useNavigate();
  const [draft, setDraft] = useState(start);
  // Errors of empty fields appear once someone tried to start it.
  const [isChecked, setChecked] = useState(false);
  const sources = draft.edits.map(({ target }) => sourceStep(target, steps));
  const loaded = useRecorded(projectId, run.run_id, sources);
  const text = JSON.stringify(request());
  const [debounced] = useDebouncedValue(text, 500);
  // The same text is the same request.
  const { body, errors: own } = useMemo(() => JSON.parse(text) as ReturnType<typeof request>, [text]);
  const debouncedBody = useMemo(
    () => (JSON.parse(debounced) as ReturnType<typeof request>).body,
    [debounced],
  );
  const plan = useReplayPlan(body === null ? null : debouncedBody);
  const create = useCreateReplay(projectId);
  const isCurrent = text === debounced;
  const errors = {
    ...(isChecked ? own : shownEarly(own)),
    ...errorsOf(body !== null && isCurrent ? plan.error : null),
    ...errorsOf(create.error),
  };

  function request() {
    const found: FormErrors = {};
    const edits = draft.edits.map((edit, index) => {
      const { recorded } = loaded[index] ?? NOTHING;
      return readEdit(edit, recorded, `body.edits[${index}]`, found);
    });
    return replayRequest(projectId, run.run_id, draft, edits, found);
  }
  const change = (changed: Partial<NewReplay>) => {
    create.reset();
    setDraft((before) => ({ ...before, ...changed }));
  };
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    setChecked(true);
    if (body) create.mutate(body, { onSuccess: ({ id }) => onStarted(id) });
  };
  const tools = toolsOf(steps);
  const unable = isTiming(draft.edits) || !plan.data ? null : unableText(plan.data.attainable_p);
  const missing = isChecked ? Object.keys(own).length : 0;
  return (
    <form className={classes.page} onSubmit={submit} data-testid="replay-form">
      <PageHeader
        title="New replay"
        back={{ label: "Back to the run", onClick: () => navigate(`/p/${projectId}/runs/${run.run_id}`) }}
        context={
          <>
            Replays the run{" "}
            <Link to={`/p/${projectId}/runs/${run.run_id}`}>
              <bdi title={run.name}>{firstWords(run.name, 100) || "unnamed"}</bdi>
            </Link>{" "}
            with and without your edits. Tools aren't executed.
          </>
        }
      />
      <div className={classes.body}>
        <div className={classes.main}>
          <LevelNotice replayability={replayability} />
          <EditsSection
            projectId={projectId}
            draft={draft}
            steps={steps}
            level={replayability.level}
            loaded={loaded}
            providers={providers}
            errors={errors}
            onChange={change}
          >
            {draft.edits.length === 0 && (
              <p className={classes.note}>
                Without an edit, the replay shows how much the agent varies on its own.
              </p>
            )}
          </EditsSection>
          <AttemptsSection
            projectId={projectId}
            draft={draft}
            strengths={STRENGTHS}
            most={MOST_ATTEMPTS}
            providers={providers}
            errors={errors}
            onChange={change}
          />
          {unable && (
            <p className={classes.fit} data-can-tell={false} data-testid="attainable">
              <b>Can never tell.</b> {unable}
            </p>
          )}
          <ToolsSection
            names={tools}
            tools={draft.tools}
            errors={errors}
            onChange={(changed) => change({ tools: changed })}
          />
          <OutcomeSection
            projectId={projectId}
            providers={providers}
            outcome={draft.outcome}
            panel={draft.panel}
            errors={errors}
            onChange={change}
          />
        </div>
        <aside className={classes.aside} aria-label="Plan and start">
          {body === null && <Wrong count={missing} />}
          {create.error && <ProblemPanel error={create.error} />}
          <Button type="submit" fullWidth loading={create.isPending} data-testid="start-replay">
            {startText(body !== null && isCurrent && !plan.isPlaceholderData ? plan.data : undefined)}
          </Button>
          <PlanPanel
            query={plan}
            isReady={body !== null}
            isStale={!isCurrent || plan.isPlaceholderData}
            hideError={Object.keys(errorsOf(plan.error)).length > 0}
          />
        </aside>
      </div>
    </form>
  );
}
