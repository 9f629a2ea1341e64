import { Button, Checkbox, NumberInput, Select, TextInput } from "@mantine/core";
import { useNavigate } from "react-router";
import type { DatasetItem, Provider } from "@/api/types";
import { DatasetChoice } from "@/components/DatasetChoice";
import editor from "@/components/editor/Editor.module.css";
import { formatCountOf } from "@/components/format";
import type { FormErrors } from "@/components/formErrors";
import { GradersForm } from "@/components/graders/GradersForm";
import { PageHeader } from "@/components/PageHeader";
import { PanelsForm } from "@/components/panels/PanelsForm";
import { Disclosure } from "./Disclosure";
import { EstimatePanel, type EstimateQuery } from "./EstimatePanel";
import type { EvaluationDraft } from "./evaluationDraft";
import { GroupBy } from "./GroupBy";
import { groupPaths } from "./groups";
import classes from "./StartForm.module.css";
import type { DebouncedRequest } from "./useDebouncedRequest";

/** The words of one kind of evaluation. */
export interface EvaluationWords {
  title: string;
  context: string;
  back: string;
  /** Where it goes back to, below the project. */
  list: string;
  method: string;
  repeats: string;
  primary: string;
  skip: string;
  skipHint: string;
  namePlaceholder: string;
  nameHint?: string;
  /** What to do first while there is nothing to estimate. */
  hint: string;
  start: string;
}

interface Props {
  testId?: string;
  words: EvaluationWords;
  projectId: string;
  providers: readonly Provider[];
  /** What was prefilled, and what it saves. */
  notice: string | null;
  draft: EvaluationDraft;
  /** The first items of the dataset. */
  items: readonly DatasetItem[];
  errors: FormErrors;
  /** There is one configuration only. */
  isSingle: boolean;
  hasRepeats: boolean;
  /** The models whose outputs are judged. */
  targetModels: readonly string[];
  /** Where the outputs come from. */
  children: React.ReactNode;
  /** More fields of the method. */
  fields?: React.ReactNode;
  /** What else is below "More options", with the locations of its errors, and whether some of it is set. */
  more?: { fields: React.ReactNode; checks: React.ReactNode; at: readonly string[]; isSet: boolean };
  /** Why it isn't started here. Then there is nothing to score either. */
  elsewhere?: string;
  estimate: EstimateQuery;
  debounced: DebouncedRequest<unknown>;
  /** Whether there is a request. */
  isReady: boolean;
  /** How many fields are still wrong, once someone tried to start it. */
  missing: number;
  start: { isPending: boolean; error: Error | null };
  onChange: (changed: Partial<EvaluationDraft>) => void;
  onStart: () => void;
}

/** The form of a comparison or an eval-run, with what it may cost. */
export function EvaluationForm(props: Props) {
  const { testId, words, projectId, providers, notice, draft, items, errors, isSingle } = props;
  const { targetModels, children, elsewhere, estimate, debounced, isReady, missing, start, onChange } = props;
  const navigate = useNavigate();
  const names = draft.graders.map(({ name }) => name).filter((name) => name.trim() !== "");
  return (
    <form
      className={classes.page}
      data-testid={testId}
      onSubmit={(event) => {
        event.preventDefault();
        props.onStart();
      }}
    >
      <PageHeader
        title={words.title}
        back={{ label: words.back, onClick: () => navigate(`/p/${projectId}/${words.list}`) }}
        context={words.context}
      />
      <div className={classes.body}>
        <div className={classes.main}>
          {notice && (
            <p className={classes.notice} data-testid="prefilled">
              {notice}
            </p>
          )}
          <section className={editor.section} aria-label="Dataset">
            <h2>Dataset</h2>
            <div className={classes.dataset}>
              <DatasetChoice
                projectId={projectId}
                value={draft.dataset}
                onChange={(dataset) => onChange({ dataset, revision: "", split: "" })}
                mayCreate={false}
                error={errors["body.dataset_id"]}
              />
            </div>
          </section>
          {children}
          {elsewhere === undefined && (
            <>
              <GradersForm
                projectId={projectId}
                graders={draft.graders}
                items={items}
                errors={errors}
                onChange={(graders) => onChange({ graders })}
              />
              <PanelsForm
                projectId={projectId}
                providers={providers}
                panels={draft.panels}
                taken={names}
                mayPrefer={!isSingle}
                items={items}
                datasetId={draft.dataset?.id}
                targetModels={[...targetModels]}
                errors={errors}
                onChange={(panels) => onChange({ panels })}
              />
              <Method {...props} graders={names} />
            </>
          )}
        </div>
        <aside className={classes.aside} aria-label="Estimate and start">
          <TextInput
            label="Name"
            description={words.nameHint}
            placeholder={words.namePlaceholder}
            maxLength={200}
            autoComplete="off"
            value={draft.name}
            onChange={(event) => onChange({ name: event.currentTarget.value })}
            error={errors["body.name"]}
          />
          {elsewhere === undefined ? (
            <>
              <EstimatePanel
                query={estimate}
                isReady={isReady}
                debounced={debounced}
                hint={words.hint}
                isSingle={isSingle}
                skips={draft.skipIncompatible}
                hasGraders={draft.graders.length + draft.panels.length > 0}
                missing={missing}
                startError={start.error}
              />
              <Button type="submit" fullWidth loading={start.isPending}>
                {words.start}
              </Button>
              {draft.dataset && (
                <p className={classes.note}>
                  {formatCountOf(draft.dataset.item_count, "item")} in the newest revision. Each call is a
                  recorded run of the source “Evaluation”.
                </p>
              )}
            </>
          ) : (
            <p className={classes.note}>{elsewhere}</p>
          )}
        </aside>
      </div>
    </form>
  );
}

/** How it is evaluated: what most people set, and the rest below "More options". */
function Method(props: Props & { graders: readonly string[] }) {
  const { words, draft, errors, graders, hasRepeats, fields, estimate, onChange } = props;
  const metrics = [...draft.panels.map(({ name }) => name.trim()).filter((name) => name !== ""), ...graders];
  const { incompatible_items: incompatible = 0, unpriced_models: unpriced = [] } = estimate.data ?? {};
  return (
    <section className={editor.section} aria-label={words.method}>
      <h2>{words.method}</h2>
      <div className={classes.fields}>
        {hasRepeats && (
          <NumberInput
            label="Repeats"
            description={words.repeats}
            min={1}
            max={100}
            clampBehavior="none"
            value={draft.repeats}
            onChange={(value) => onChange({ repeats: String(value) })}
            error={errors["body.repeats"]}
          />
        )}
        <Select
          label="Primary metric"
          description={words.primary}
          placeholder={metrics[0] ?? "needs a grader or judges"}
          data={[...new Set(metrics)]}
          value={metrics.includes(draft.primary) ? draft.primary : null}
          onChange={(primary) => onChange({ primary: primary ?? "" })}
          disabled={metrics.length === 0}
          clearable
          error={errors["body.primary_metric"]}
        />
        <NumberInput
          label="Cost cap ($)"
          description="For all calls, including judges"
          placeholder="no cap"
          min={0}
          value={draft.maxCost}
          onChange={(value) => onChange({ maxCost: String(value) })}
          error={errors["body.max_cost_usd"]}
        />
        {fields}
      </div>
      <div className={classes.checks}>
        {(incompatible > 0 || draft.skipIncompatible) && (
          <Checkbox
            label={words.skip}
            description={words.skipHint}
            checked={draft.skipIncompatible}
            onChange={(event) => onChange({ skipIncompatible: event.currentTarget.checked })}
          />
        )}
        {((unpriced.length > 0 && draft.maxCost !== "") || draft.allowUnpriced) && (
          <Checkbox
            label="Allow models without a price under the cap"
            description="Their calls count as free, so the cap doesn't limit them."
            checked={draft.allowUnpriced}
            onChange={(event) => onChange({ allowUnpriced: event.currentTarget.checked })}
          />
        )}
      </div>
      <MoreOptions {...props} />
    </section>
  );
}

function MoreOptions({ draft, items, errors, more, onChange }: Props) {
  const { dataset, revision, split, groupBy } = draft;
  const [proposed] = groupPaths(items);
  const at = ["body.revision", "body.split", "body.group_by", ...(more?.at ?? [])];
  const isOld = revision !== "" && Number(revision) !== dataset?.revision;
  return (
    <Disclosure
      className={classes.more}
      summary={
        proposed && groupBy === ""
          ? `More options: some items have the same ${proposed.slice("metadata.".length)}`
          : "More options"
      }
      testId="more-options"
      startsOpen={isOld || split !== "" || groupBy !== "" || more?.isSet}
      mustOpen={at.some((location) => errors[location] !== undefined)}
    >
      <div className={classes.fields}>
        <NumberInput
          label="Revision"
          placeholder={dataset ? `${dataset.revision}, the newest` : "the newest"}
          min={0}
          max={dataset?.revision}
          clampBehavior="none"
          value={revision}
          onChange={(value) => onChange({ revision: String(value) })}
          error={errors["body.revision"]}
        />
        <TextInput
          label="Split"
          placeholder="all items"
          maxLength={200}
          autoComplete="off"
          value={split}
          onChange={(event) => onChange({ split: event.currentTarget.value })}
          error={errors["body.split"]}
        />
        <GroupBy
          value={groupBy}
          items={items}
          error={errors["body.group_by"]}
          onChange={(value) => onChange({ groupBy: value })}
        />
        {more?.fields}
      </div>
      {more && <div className={classes.checks}>{more.checks}</div>}
    </Disclosure>
  );
}
