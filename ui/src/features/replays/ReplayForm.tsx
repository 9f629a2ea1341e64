import { Button, Checkbox, NumberInput, Select, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconPlus } from "@tabler/icons-react";
import { useMemo, useRef, useState } from "react";
import { Link, useNavigate } from "react-router";
import { useCreateReplay, useReplayPlan } from "@/api/replays";
import type { Provider, Run, RunReplayability } from "@/api/types";
import editor from "@/components/editor/Editor.module.css";
import { ErrorText } from "@/components/editor/ErrorText";
import { firstWords } from "@/components/format";
import { errorsBelow, errorsOf, type FormErrors, shownEarly } from "@/components/formErrors";
import { PageHeader } from "@/components/PageHeader";
import { ProblemPanel } from "@/components/ProblemPanel";
import { EditCard } from "./EditCard";
import { broadestTarget, isTiming, newEdit, sourceStep } from "./edits";
import { LevelNotice } from "./LevelNotice";
import { type NewReplay, replayRequest } from "./newReplay";
import { PlanPanel } from "./PlanPanel";
import { attainable, startText } from "./plan";
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

/** Descriptions of different lengths leave the fields in a line. */
const ORDER: ("label" | "input" | "description" | "error")[] = ["label", "input", "description", "error"];

/** The form of a replay, with what it would do and cost. */
export function ReplayForm({ projectId, run, steps, replayability, providers, start, onStarted }: Props) {
  const navigate = useNavigate();
  const [draft, setDraft] = useState(start);
  // Errors of empty fields appear once someone tried to start it.
  const [isChecked, setChecked] = useState(false);
  const add = useRef<HTMLButtonElement>(null);
  const sources = draft.edits.map(({ target }) => sourceStep(target, steps));
  const loaded = useRecorded(projectId, run.run_id, sources);
  const text = JSON.stringify(request());
  const [settled] = useDebouncedValue(text, 500);
  // The same text is the same request.
  const { body, errors: own } = useMemo(() => JSON.parse(text) as ReturnType<typeof request>, [text]);
  const settledBody = useMemo(() => (JSON.parse(settled) as ReturnType<typeof request>).body, [settled]);
  const plan = useReplayPlan(body === null ? null : settledBody);
  const create = useCreateReplay(projectId);
  const isCurrent = text === settled;
  const errors = {
    ...(isChecked ? own : shownEarly(own)),
    ...errorsOf(body !== null && isCurrent ? plan.error : null),
    ...errorsOf(create.error),
  };

  function request() {
    const found: FormErrors = {};
    const edits = draft.edits.map((edit, index) => {
      const { recorded } = loaded[index] ?? { recorded: { opened: null, span: null } };
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
  const isCassette = draft.executor === "cassette" || (draft.executor === "" && isTiming(draft.edits));
  const providerId = draft.providerId || (providers.length === 1 ? (providers[0]?.id ?? "") : "");
  const fit = isCassette || !plan.data ? null : attainable(plan.data.attainable_p);
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
          <section className={editor.section} aria-label="Edits">
            <h2>Edits</h2>
            {draft.edits.length === 0 && (
              <p className={classes.note}>
                Without an edit, the replay shows how much the agent varies on its own.
              </p>
            )}
            {draft.edits.map((edit, index) => (
              <EditCard
                key={edit.id}
                projectId={projectId}
                edit={edit}
                number={index + 1}
                steps={steps}
                level={replayability.level}
                loaded={
                  loaded[index] ?? { recorded: { opened: null, span: null }, isPending: false, error: null }
                }
                providerId={providerId}
                errors={errors}
                onChange={(changed) => change({ edits: draft.edits.with(index, changed) })}
                onRemove={() => {
                  change({ edits: draft.edits.toSpliced(index, 1) });
                  add.current?.focus();
                }}
              />
            ))}
            <Button
              ref={add}
              size="compact-sm"
              variant="default"
              leftSection={<IconPlus size={13} />}
              disabled={draft.edits.length >= 50}
              onClick={() =>
                change({
                  edits: [
                    ...draft.edits,
                    newEdit(
                      broadestTarget(steps),
                      replayability.level === "structure" ? "timeout_ms" : "system_prompt",
                    ),
                  ],
                })
              }
            >
              Edit
            </Button>
            {errorsBelow(errors, "body.edits").length > 0 && errors["body.edits"] && (
              <ErrorText>{errors["body.edits"]}</ErrorText>
            )}
          </section>
          <section className={editor.section} aria-label="How to replay">
            <h2>How to replay</h2>
            <div className={classes.fields}>
              <Select
                size="xs"
                label="Calls"
                description="What answers calls that the recording can't"
                inputWrapperOrder={ORDER}
                placeholder="As the edits require"
                data={[
                  { value: "server", label: "Models are called again" },
                  { value: "cassette", label: "The recording only" },
                ]}
                value={draft.executor || null}
                onChange={(executor) => change({ executor: (executor ?? "") as NewReplay["executor"] })}
                clearable
                clearButtonProps={{ "aria-label": "Clear: calls" }}
                error={errors["body.executor"]}
              />
              {!isCassette && (
                <>
                  <Select
                    size="xs"
                    label="Connection"
                    description="Calls the models"
                    inputWrapperOrder={ORDER}
                    placeholder={providers.length === 0 ? "none set up" : "Choose a connection"}
                    data={providers.map(({ id, name }) => ({ value: id, label: name }))}
                    value={providerId || null}
                    onChange={(id) => change({ providerId: id ?? "" })}
                    allowDeselect={false}
                    error={errors["body.provider_id"]}
                  />
                  <NumberInput
                    size="xs"
                    label="Without the edits"
                    description="Controls: they show how the agent varies"
                    inputWrapperOrder={ORDER}
                    min={0}
                    max={100}
                    clampBehavior="none"
                    value={draft.controls}
                    onChange={(value) => change({ controls: String(value) })}
                    error={errors["body.controls"]}
                  />
                  <NumberInput
                    size="xs"
                    label="With the edits"
                    description="Treatments"
                    inputWrapperOrder={ORDER}
                    min={1}
                    max={100}
                    clampBehavior="none"
                    value={draft.treatments}
                    onChange={(value) => change({ treatments: String(value) })}
                    error={errors["body.treatments"]}
                  />
                  <NumberInput
                    size="xs"
                    label="Cost cap ($)"
                    description="For all calls together"
                    inputWrapperOrder={ORDER}
                    placeholder="no cap"
                    min={0}
                    value={draft.maxCost}
                    onChange={(value) => change({ maxCost: String(value) })}
                    error={errors["body.max_cost_usd"]}
                  />
                </>
              )}
            </div>
            {fit && (
              <p className={classes.fit} data-can-tell={fit.canTell} data-testid="attainable">
                {!fit.canTell && <b>Can never tell. </b>}
                {fit.text}
              </p>
            )}
            {!isCassette && draft.maxCost !== "" && (
              <Checkbox
                mt="xs"
                size="xs"
                label="Allow models without a price under the cap"
                description="Their calls count as free, so the cap doesn't limit them."
                checked={draft.allowUnpriced}
                onChange={(event) => change({ allowUnpriced: event.currentTarget.checked })}
              />
            )}
            {providers.length === 0 && !isCassette && (
              <p className={classes.note}>
                This project has no connection to a provider.{" "}
                <Link to={`/p/${projectId}/settings/providers`}>Add one</Link>, or edit timeouts, retries and
                latencies, which need none.
              </p>
            )}
          </section>
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
          <TextInput
            size="xs"
            label="Name"
            placeholder="What it edits"
            maxLength={200}
            autoComplete="off"
            value={draft.name}
            onChange={(event) => change({ name: event.currentTarget.value })}
            error={errors["body.name"]}
          />
          {missing > 0 && body === null && (
            <p className={classes.note} role="alert">
              {missing === 1 ? "1 field needs" : `${missing} fields need`} fixing before it can start.
            </p>
          )}
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
