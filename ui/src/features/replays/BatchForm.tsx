import { Button, NumberInput } from "@mantine/core";
import { useState } from "react";
import { Link, useLocation, useNavigate } from "react-router";
import { useCreateReplayBatch, usePlanReplayBatch } from "@/api/replayBatches";
import type { Provider, Run } from "@/api/types";
import { firstWords, formatRuns } from "@/components/format";
import { errorsOf, type FormErrors, shownEarly } from "@/components/formErrors";
import { PageHeader } from "@/components/PageHeader";
import { ProblemPanel } from "@/components/ProblemPanel";
import { BATCH_TITLE, type BatchRunChoice } from "@/components/replayStart";
import { AttemptsSection, EditsSection, NOTHING, ORDER, Wrong } from "./AttemptsForm";
import { BatchPlanPanel } from "./BatchPlanPanel";
import { filterText } from "./batches";
import { type Level, sourceStep } from "./edits";
import { batchRequest, MOST_ATTEMPTS_OF_RUN, MOST_RUNS, type NewBatch, STRENGTHS_OF_RUN } from "./newBatch";
import { planCost } from "./plan";
import classes from "./Replays.module.css";
import { readEdit } from "./readEdit";
import { OutcomeSection, ToolsSection } from "./Sections";
import { type RunStep, toolsOf } from "./steps";
import { useRecorded } from "./useRecorded";

interface Props {
  projectId: string;
  runs: BatchRunChoice;
  /** The run whose recorded values are shown. */
  typical: Run;
  steps: readonly RunStep[];
  /** How far the typical run can be replayed. */
  level: Level;
  providers: readonly Provider[];
  start: NewBatch;
  onStarted: (id: string) => void;
}

/** The form of a batch. It is planned on demand, since a plan reads all its runs. */
export function BatchForm(props: Props) {
  const { projectId, runs, typical, steps, providers, start, onStarted } = props;
  const navigate = useNavigate();
  const { key } = useLocation();
  const back = () => (key === "default" ? navigate(`/p/${projectId}/replays?list=batches`) : navigate(-1));
  const [draft, setDraft] = useState(start);
  // Errors of empty fields appear once someone tried to plan it.
  const [isChecked, setChecked] = useState(false);
  const loaded = useRecorded(
    projectId,
    typical.run_id,
    draft.edits.map(({ target }) => sourceStep(target, steps)),
  );
  const plan = usePlanReplayBatch();
  const create = useCreateReplayBatch(projectId);
  const found: FormErrors = {};
  const edits = draft.edits.map((edit, index) =>
    readEdit(edit, (loaded[index] ?? NOTHING).recorded, `body.edits[${index}]`, found),
  );
  const { body, errors: own } = batchRequest(projectId, runs, draft, edits, found);
  const errors = {
    ...(isChecked ? own : shownEarly(own)),
    ...errorsOf(plan.error),
    ...errorsOf(create.error),
  };
  const isCurrent =
    body !== null && plan.data !== undefined && JSON.stringify(body) === JSON.stringify(plan.variables);
  const canStart =
    isCurrent && plan.data.runs.some((run) => run.part === "chosen" && run.not_replayable === null);
  const change = (changed: Partial<NewBatch>) => {
    create.reset();
    if (plan.error) plan.reset();
    setDraft((before) => ({ ...before, ...changed }));
  };
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    setChecked(true);
    if (body) plan.mutate(body);
  };
  // A typical run that can't be replayed says nothing of the others.
  const level = props.level === "none" ? "full" : props.level;
  const missing = isChecked ? Object.keys(own).length : 0;
  return (
    <form className={classes.page} onSubmit={submit} data-testid="batch-form">
      <PageHeader
        title={BATCH_TITLE}
        back={{ label: "Back", onClick: back }}
        context={`Replays ${runsText(runs)}, each with and without your edits. Tools aren't executed.`}
      />
      <div className={classes.body}>
        <div className={classes.main}>
          <EditsSection
            projectId={projectId}
            draft={draft}
            steps={steps}
            level={level}
            loaded={loaded}
            providers={providers}
            errors={errors}
            isShared
            onChange={change}
          >
            <p className={classes.note}>
              Recorded values are those of{" "}
              <Link to={`/p/${projectId}/runs/${typical.run_id}`}>
                <bdi title={typical.name}>{firstWords(typical.name, 60) || "an unnamed run"}</bdi>
              </Link>
              , one of the runs.
              {props.level === "none" && " It can't be replayed itself; the plan says which runs can."}
            </p>
          </EditsSection>
          <OutcomeSection
            projectId={projectId}
            providers={providers}
            outcome={draft.outcome}
            panel={draft.panel}
            errors={errors}
            without="Without a grader nobody knows whether runs are repaired. Add one to judge the final answer."
            onChange={change}
          />
          <AttemptsSection
            projectId={projectId}
            draft={draft}
            strengths={STRENGTHS_OF_RUN}
            most={MOST_ATTEMPTS_OF_RUN}
            providers={providers}
            errors={errors}
            onChange={change}
          >
            <RunNumbers runs={runs} draft={draft} errors={errors} onChange={change} />
          </AttemptsSection>
          <ToolsSection
            names={toolsOf(steps)}
            tools={draft.tools}
            errors={errors}
            onChange={(tools) => change({ tools })}
          />
        </div>
        <aside className={classes.aside} aria-label="Plan and start">
          {body === null && <Wrong count={missing} />}
          {plan.error && <ProblemPanel error={plan.error} />}
          <Button
            type="submit"
            fullWidth
            variant={canStart ? "default" : "filled"}
            loading={plan.isPending}
            disabled={create.isPending}
            data-testid="plan-batch"
          >
            {plan.data ? "Plan again" : "Plan"}
          </Button>
          {plan.data ? (
            <BatchPlanPanel
              plan={plan.data}
              isGraded={draft.outcome !== null || draft.panel !== null}
              isStale={!isCurrent}
            />
          ) : (
            <p className={classes.note}>
              The plan says which runs can be replayed, what it costs and what it can find. It calls no model.
            </p>
          )}
          {create.error && <ProblemPanel error={create.error} />}
          {canStart && (
            <Button
              fullWidth
              loading={create.isPending}
              onClick={() => create.mutate(body, { onSuccess: ({ id }) => onStarted(id) })}
              data-testid="start-batch"
            >
              Start · {planCost(plan.data)}
            </Button>
          )}
        </aside>
      </div>
    </form>
  );
}

interface NumbersProps {
  runs: BatchRunChoice;
  draft: NewBatch;
  errors: FormErrors;
  onChange: (changed: Partial<NewBatch>) => void;
}

/** How many runs are replayed. */
function RunNumbers({ runs, draft, errors, onChange }: NumbersProps) {
  return (
    <>
      {"run_filter" in runs && (
        <NumberInput
          size="xs"
          label="Chosen runs, at most"
          description="Of more, a random sample is taken"
          inputWrapperOrder={ORDER}
          min={1}
          max={MOST_RUNS}
          clampBehavior="none"
          value={draft.maxRuns}
          onChange={(value) => onChange({ maxRuns: String(value) })}
          error={errors["body.max_runs"]}
        />
      )}
      <NumberInput
        size="xs"
        label="Good runs"
        description="Of the same names, to see what the edit breaks"
        inputWrapperOrder={ORDER}
        min={0}
        max={MOST_RUNS}
        clampBehavior="none"
        value={draft.goodRuns}
        onChange={(value) => onChange({ goodRuns: String(value) })}
        error={errors["body.good_runs"]}
      />
    </>
  );
}

function runsText(runs: BatchRunChoice): string {
  if ("run_ids" in runs) return formatRuns(runs.run_ids.length);
  return `runs${filterText(runs.run_filter)}`;
}
