import { Checkbox, Select, TextInput } from "@mantine/core";
import { Link } from "react-router";
import { CHOICE, useEvalRunChoice } from "@/api/evalRuns";
import type { DatasetItem, Provider } from "@/api/types";
import { CodeBlock } from "@/components/CodeBlock";
import { ConfigurationForm } from "@/components/configuration/ConfigurationForm";
import type { ConfigurationDraft, ReadyConfiguration } from "@/components/configuration/configurationDraft";
import editor from "@/components/editor/Editor.module.css";
import classes from "@/components/evaluation/StartForm.module.css";
import { RunFilterField } from "@/components/filters/RunFilterField";
import { formatTime } from "@/components/format";
import type { FormErrors } from "@/components/formErrors";
import own from "./EvalRuns.module.css";
import { type NewEvalRun, TARGETS, type TargetType } from "./newEvalRun";

interface Props {
  projectId: string;
  providers: readonly Provider[];
  draft: NewEvalRun;
  config: ReadyConfiguration;
  items: readonly DatasetItem[];
  errors: FormErrors;
  /** Why the prompt couldn't be loaded. */
  loadError: Error | null;
  onChange: (changed: Partial<NewEvalRun>) => void;
  onConfig: (apply: (draft: ConfigurationDraft) => ConfigurationDraft) => void;
}

/** Where the outputs come from. */
export function TargetForm(props: Props) {
  const { projectId, providers, draft, config, items, errors, loadError, onChange, onConfig } = props;
  return (
    <section className={editor.section} aria-label="Outputs" data-testid="target">
      <h2>Outputs</h2>
      <Select
        maw={320}
        label="Where they come from"
        data={Object.entries(TARGETS).map(([value, { label }]) => ({ value, label }))}
        value={draft.target}
        onChange={(target) => target && onChange({ target: target as TargetType })}
        allowDeselect={false}
        error={errors["body.target"]}
      />
      <p className={classes.note}>{TARGETS[draft.target].description}</p>
      {draft.target === "config" && (
        <div className={own.configuration}>
          <ConfigurationForm
            projectId={projectId}
            title="Configuration"
            of="the target"
            at="body.target.config"
            testId="side-target"
            ready={config}
            providers={providers}
            items={items}
            errors={errors}
            loadError={loadError}
            onChange={onConfig}
          />
        </div>
      )}
      {draft.target === "eval_run" && (
        <>
          <EvalRunChoice
            projectId={projectId}
            datasetId={draft.dataset?.id}
            value={draft.source}
            error={errors["body.target.eval_run_id"]}
            onChange={(source) => onChange({ source })}
          />
          <Checkbox
            mt="xs"
            label="Only outputs that people have labelled"
            description="Shows how new judges compare with the earlier ones."
            checked={draft.labelled}
            onChange={(event) => onChange({ labelled: event.currentTarget.checked })}
            error={errors["body.target.labelled"]}
          />
        </>
      )}
      {draft.target === "runs" && <RunsTarget draft={draft} errors={errors} onChange={onChange} />}
      {draft.target === "external" && <External projectId={projectId} draft={draft} />}
    </section>
  );
}

interface ChoiceProps {
  projectId: string;
  datasetId: string | undefined;
  value: string;
  error?: string;
  onChange: (id: string) => void;
}

/** Chooses an eval-run of the dataset. */
function EvalRunChoice(props: ChoiceProps) {
  const { projectId, datasetId, value, error, onChange } = props;
  const query = useEvalRunChoice(projectId, datasetId ?? "", datasetId !== undefined);
  const runs = query.data?.data ?? [];
  const none =
    datasetId === undefined
      ? "Choose a dataset first"
      : query.data && runs.length === 0
        ? "The dataset has no eval-run"
        : "Choose an eval-run";
  return (
    <Select
      maw={460}
      label="Eval-run"
      description={query.data?.has_more ? `Only the newest ${CHOICE} are listed.` : undefined}
      placeholder={none}
      searchable
      clearable
      clearButtonProps={{ "aria-label": "Clear: Eval-run" }}
      disabled={datasetId === undefined}
      data={runs.map(({ id, name, branch, created_at }) => ({
        value: id,
        label: [name, branch, formatTime(created_at)].filter((part) => part !== null).join(" · "),
      }))}
      value={value || null}
      onChange={(id) => onChange(id ?? "")}
      nothingFoundMessage="No eval-run has this name"
      error={error ?? query.error?.message}
    />
  );
}

function RunsTarget({ draft, errors, onChange }: Pick<Props, "draft" | "errors" | "onChange">) {
  return (
    <>
      <RunFilterField
        value={draft.runs}
        onChange={(runs) => onChange({ runs })}
        error={errors["body.target.run_filter"]}
      />
      <div className={classes.fields}>
        <TextInput
          type="datetime-local"
          label="Started from"
          description="Empty: a week ago"
          value={draft.from}
          onChange={(event) => onChange({ from: event.currentTarget.value })}
          error={errors["body.target.from"]}
        />
        <TextInput
          type="datetime-local"
          label="Started before"
          description="Empty: now"
          value={draft.to}
          onChange={(event) => onChange({ to: event.currentTarget.value })}
          error={errors["body.target.to"]}
        />
        <TextInput
          label="Runs"
          description="If more match, a random sample"
          inputMode="numeric"
          value={draft.maxRuns}
          onChange={(event) => onChange({ maxRuns: event.currentTarget.value })}
          error={errors["body.target.max_runs"]}
        />
      </div>
    </>
  );
}

function External({ projectId, draft }: { projectId: string; draft: NewEvalRun }) {
  const text = (value: string) => JSON.stringify(value);
  const program = `import looptrace

def answer(question):            # your agent; members of an item's input are its arguments
    return my_agent(question)

result = looptrace.evaluate(${text(draft.dataset?.name ?? "my-dataset")}, answer, name=${text(draft.name.trim() || "support-agent")})
print(result)                    # the scores, and the address of the eval-run`;
  return (
    <div data-testid="external">
      <CodeBlock code={program} what="program" />
      <p className={classes.note}>
        Install it with <code>pip install looptrace</code>, and set <code>LOOPTRACE_API_KEY</code> to a{" "}
        <Link to={`/p/${projectId}/settings/keys`}>key</Link> with the scopes <code>ingest:write</code>,{" "}
        <code>datasets:read</code>, <code>evals:read</code> and <code>evals:write</code>. To have judges score
        it, choose “Judge these outputs again” on the eval-run's page.
      </p>
    </div>
  );
}
