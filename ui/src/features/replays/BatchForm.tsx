import { Button, Checkbox, NumberInput, Select, TextInput } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useRef, useState } from "react";
import { Link, useLocation, useNavigate } from "react-router";
import { useCreateReplayBatch, usePlanReplayBatch } from "@/api/replayBatches";
import type { Provider, Run } from "@/api/types";
import editor from "@/components/editor/Editor.module.css";
import { ErrorText } from "@/components/editor/ErrorText";
import { firstWords, formatRuns } from "@/components/format";
import { errorsOf, type FormErrors, shownEarly } from "@/components/formErrors";
import { PageHeader } from "@/components/PageHeader";
import { ProblemPanel } from "@/components/ProblemPanel";
import { BATCH_TITLE, type BatchRunChoice } from "@/components/replayStart";
import { BatchPlanPanel } from "./BatchPlanPanel";
import { filterText } from "./batches";
import { EditCard } from "./EditCard";
import { broadestTarget, isTiming, type Level, newEdit, sourceStep } from "./edits";
import { batchRequest, MOST_ATTEMPTS_OF_RUN, MOST_RUNS, type NewBatch } from "./newBatch";
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

/** Descriptions of different lengths leave the fields in a line. */
const ORDER: ("label" | "input" | "description" | "error")[] = ["label", "input", "description", "error"];

const NOTHING = { recorded: { opened: null, span: null }, isPending: false, error: null };

/** The form of a batch. It is planned on demand, since a plan reads all its runs. */
export function BatchForm(props: Props) {
  const { projectId, runs, typical, steps, providers, start, onStarted } = props;
  const navigate = useNavigate();
  const { key } = useLocation();
  const back = () => (key === "default" ? navigate(`/p/${projectId}/replays?list=batches`) : navigate(-1));
  const [draft, setDraft] = useState(start);
  // Errors of empty fields appear once someone tried to plan it.
  const [isChecked, setChecked] = useState(false);
  const add = useRef<HTMLButtonElement>(null);
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
  const isCurrent = body !== null && plan.data !== undefined && isSame(body, plan.variables);
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
  const isCassette = isTiming(draft.edits);
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
          <section className={editor.section} aria-label="Edits">
            <h2>Edits</h2>
            <p className={classes.note}>
              Recorded values are those of{" "}
              <Link to={`/p/${projectId}/runs/${typical.run_id}`}>
                <bdi title={typical.name}>{firstWords(typical.name, 60) || "an unnamed run"}</bdi>
              </Link>
              , one of the runs.
              {props.level === "none" && " It can't be replayed itself; the plan says which runs can."}
            </p>
            {draft.edits.map((edit, index) => (
              <EditCard
                key={edit.id}
                projectId={projectId}
                edit={edit}
                number={index + 1}
                steps={steps}
                level={level}
                loaded={loaded[index] ?? NOTHING}
                providerId={draft.providerId || onlyOne(providers)}
                errors={errors}
                isShared
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
                    newEdit(broadestTarget(steps), level === "structure" ? "timeout_ms" : "system_prompt"),
                  ],
                })
              }
            >
              Edit
            </Button>
            {errors["body.edits"] && <ErrorText>{errors["body.edits"]}</ErrorText>}
          </section>
          <OutcomeSection
            projectId={projectId}
            providers={providers}
            outcome={draft.outcome}
            panel={draft.panel}
            errors={errors}
            without="Without a grader nobody knows whether runs are repaired. Add one to judge the final answer."
            onChange={change}
          />
          <section className={editor.section} aria-label="How to replay">
            <h2>How to replay</h2>
            <Numbers
              runs={runs}
              draft={draft}
              errors={errors}
              providers={isCassette ? null : providers}
              onChange={change}
            />
            {providers.length === 0 && !isCassette && (
              <p className={classes.note}>
                This project has no connection to a provider.{" "}
                <Link to={`/p/${projectId}/settings/providers`}>Add one</Link>, or edit timeouts, retries and
                latencies, which need none.
              </p>
            )}
          </section>
          <ToolsSection
            names={toolsOf(steps)}
            tools={draft.tools}
            errors={errors}
            onChange={(tools) => change({ tools })}
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
  /** Null if no model is called. */
  providers: readonly Provider[] | null;
  onChange: (changed: Partial<NewBatch>) => void;
}

/** How many runs and attempts, and what they may cost. */
function Numbers({ runs, draft, errors, providers, onChange }: NumbersProps) {
  return (
    <>
      <div className={classes.fields}>
        {providers && (
          <Select
            size="xs"
            label="Connection"
            description="Calls the models"
            inputWrapperOrder={ORDER}
            placeholder={providers.length === 0 ? "none set up" : "Choose a connection"}
            data={providers.map(({ id, name }) => ({ value: id, label: name }))}
            value={draft.providerId || onlyOne(providers) || null}
            onChange={(id) => onChange({ providerId: id ?? "" })}
            allowDeselect={false}
            error={errors["body.provider_id"]}
          />
        )}
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
        <NumberInput
          size="xs"
          label="Unedited attempts of each run"
          description="Some recover by themselves"
          inputWrapperOrder={ORDER}
          min={0}
          max={MOST_ATTEMPTS_OF_RUN}
          clampBehavior="none"
          value={draft.controls}
          onChange={(value) => onChange({ controls: String(value) })}
          error={errors["body.controls"]}
        />
        <NumberInput
          size="xs"
          label="Edited attempts of each run"
          inputWrapperOrder={ORDER}
          min={1}
          max={MOST_ATTEMPTS_OF_RUN}
          clampBehavior="none"
          value={draft.treatments}
          onChange={(value) => onChange({ treatments: String(value) })}
          error={errors["body.treatments"]}
        />
        {providers && (
          <NumberInput
            size="xs"
            label="Cost cap ($)"
            description="For all calls together"
            inputWrapperOrder={ORDER}
            placeholder="no cap"
            min={0}
            value={draft.maxCost}
            onChange={(value) => onChange({ maxCost: String(value) })}
            error={errors["body.max_cost_usd"]}
          />
        )}
      </div>
      {providers && draft.maxCost !== "" && (
        <Checkbox
          mt="xs"
          size="xs"
          label="Allow models without a price under the cap"
          description="Their calls count as free, so the cap doesn't limit them."
          checked={draft.allowUnpriced}
          onChange={(event) => onChange({ allowUnpriced: event.currentTarget.checked })}
        />
      )}
    </>
  );
}

/** The id of the only connection, which needs no choice; empty if there are none or several. */
function onlyOne(providers: readonly Provider[]): string {
  return providers.length === 1 ? (providers[0]?.id ?? "") : "";
}

/** Whether a draft is the one that was planned. Its name changes nothing. */
function isSame(draft: object, planned: object | undefined): boolean {
  const text = (value: object | undefined) => JSON.stringify({ ...value, name: undefined });
  return text(draft) === text(planned);
}

function runsText(runs: BatchRunChoice): string {
  if ("run_ids" in runs) return formatRuns(runs.run_ids.length);
  return `runs${filterText(runs.run_filter)}`;
}
