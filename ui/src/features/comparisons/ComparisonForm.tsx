import { Button, Checkbox, NumberInput, Select, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconArrowsExchange, IconCopy } from "@tabler/icons-react";
import { useMemo, useState } from "react";
import { useNavigate } from "react-router";
import { useComparisonEstimate, useCreateComparison, useGraderCheck } from "@/api/comparisons";
import { useDatasetItems } from "@/api/datasets";
import { usePromptVersionsOf } from "@/api/prompts";
import type { PromptVersion, Provider } from "@/api/types";
import { ConfigurationForm } from "@/components/configuration/ConfigurationForm";
import { type ConfigurationDraft, modelOf, providerOf } from "@/components/configuration/configurationDraft";
import { DatasetChoice } from "@/components/DatasetChoice";
import editor from "@/components/editor/Editor.module.css";
import { EstimatePanel } from "@/components/evaluation/EstimatePanel";
import { goalOf, NO_GOAL } from "@/components/evaluation/forecast";
import { GroupBy } from "@/components/evaluation/GroupBy";
import classes from "@/components/evaluation/StartForm.module.css";
import { formatCountOf } from "@/components/format";
import { errorsOf, shownEarly } from "@/components/formErrors";
import { GradersForm } from "@/components/graders/GradersForm";
import { gradersOf } from "@/components/graders/graderDraft";
import { PageHeader } from "@/components/PageHeader";
import { PanelsForm } from "@/components/panels/PanelsForm";
import own from "./ComparisonForm.module.css";
import { type NewComparison, requestOf, type Side } from "./newComparison";

interface Props {
  projectId: string;
  providers: readonly Provider[];
  start: NewComparison;
  /** What was prefilled, and what it saves. */
  notice: string | null;
  onStarted: (id: string) => void;
}

/** The form of a comparison, with what it may cost. */
export function ComparisonForm({ projectId, providers, start, notice, onStarted }: Props) {
  const navigate = useNavigate();
  const [draft, setDraft] = useState(start);
  // Errors of empty fields appear once someone tried to start it.
  const [isChecked, setChecked] = useState(false);
  const set = (changed: Partial<NewComparison>) => setDraft((before) => ({ ...before, ...changed }));
  const setSide = (which: Side, change: (side: ConfigurationDraft) => ConfigurationDraft) =>
    setDraft((before) => ({ ...before, [which]: change(before[which]) }));

  const choices = [draft.a.prompt, draft.b.prompt].filter((choice) => choice !== null);
  const unique = choices.filter(
    ({ id, version }, index) =>
      choices.findIndex((other) => other.id === id && other.version === version) === index,
  );
  const { versions, error: versionError } = usePromptVersionsOf(unique);
  const sides = useMemo(() => {
    const ready = (side: ConfigurationDraft) => {
      const version = side.prompt ? versionOf(side.prompt, versions) : undefined;
      return { draft: side, version, providerId: providerOf(side, version, providers) };
    };
    return { a: ready(draft.a), b: ready(draft.b) };
  }, [draft.a, draft.b, versions, providers]);
  const request = useMemo(() => requestOf(projectId, draft, sides), [projectId, draft, sides]);
  const [settled] = useDebouncedValue(request.body, 600);
  const [goal, setGoal] = useState(NO_GOAL);
  const [settledGoal] = useDebouncedValue(goal, 600);
  const estimate = useComparisonEstimate(settled, goalOf(settledGoal));
  // The estimate checks the graders, too, once the rest is complete.
  const graders = useMemo(
    () => (request.body === null ? gradersOf(draft.graders) : null),
    [request.body, draft.graders],
  );
  const [settledGraders] = useDebouncedValue(graders, 600);
  const check = useGraderCheck(settledGraders && { project_id: projectId, graders: settledGraders });
  const create = useCreateComparison(projectId);
  const errors = {
    ...(isChecked ? request.errors : shownEarly(request.errors)),
    ...errorsOf(request.body !== null && request.body === settled ? estimate.error : null),
    ...errorsOf(graders !== null && graders === settledGraders ? check.error : null),
    ...errorsOf(create.error),
  };

  const revision = draft.revision === "" ? undefined : Number(draft.revision);
  const items = useDatasetItems(
    draft.dataset?.id ?? "",
    { revision, split: draft.split.trim() || undefined },
    draft.dataset !== null,
  );
  const sample = items.data?.pages[0]?.data ?? [];
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    setChecked(true);
    if (request.body) create.mutate(request.body, { onSuccess: ({ id }) => onStarted(id) });
  };
  const change = (changed: Partial<NewComparison>) => {
    create.reset();
    set(changed);
  };
  const names = draft.graders.map(({ name }) => name).filter((name) => name.trim() !== "");
  const metrics = [...draft.panels.map(({ name }) => name.trim()).filter((name) => name !== ""), ...names];
  return (
    <form className={classes.page} onSubmit={submit}>
      <PageHeader
        title="New comparison"
        back={{ label: "Back to the comparisons", onClick: () => navigate(`/p/${projectId}/comparisons`) }}
        context="Every item of the dataset is answered by A and by B, and the outputs are graded and compared item by item."
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
            <div className={classes.fields}>
              <div className={classes.wide}>
                <DatasetChoice
                  projectId={projectId}
                  value={draft.dataset}
                  onChange={(dataset) => change({ dataset, revision: "", split: "" })}
                  mayCreate={false}
                  error={errors["body.dataset_id"]}
                />
              </div>
              <NumberInput
                label="Revision"
                placeholder={draft.dataset ? `${draft.dataset.revision}, the newest` : "the newest"}
                min={0}
                max={draft.dataset?.revision}
                clampBehavior="none"
                value={draft.revision}
                onChange={(value) => change({ revision: String(value) })}
                error={errors["body.revision"]}
              />
              <TextInput
                label="Split"
                placeholder="all items"
                maxLength={200}
                autoComplete="off"
                value={draft.split}
                onChange={(event) => change({ split: event.currentTarget.value })}
                error={errors["body.split"]}
              />
            </div>
          </section>
          <div className={own.sidesHead}>
            <Button
              size="compact-sm"
              variant="default"
              leftSection={<IconCopy size={13} />}
              onClick={() => change({ b: { ...draft.a, name: "" } })}
            >
              Copy A to B
            </Button>
            <Button
              size="compact-sm"
              variant="default"
              leftSection={<IconArrowsExchange size={13} />}
              onClick={() => change({ a: draft.b, b: draft.a })}
            >
              Swap A and B
            </Button>
          </div>
          <div className={own.sides}>
            {(["a", "b"] as const).map((which) => (
              <ConfigurationForm
                key={which}
                projectId={projectId}
                title={which.toUpperCase()}
                of={which.toUpperCase()}
                at={`body.${which}`}
                testId={`side-${which}`}
                ready={sides[which]}
                providers={providers}
                items={sample}
                errors={errors}
                loadError={sides[which].draft.prompt && !sides[which].version ? versionError : null}
                onChange={(apply) => {
                  create.reset();
                  setSide(which, apply);
                }}
              />
            ))}
          </div>
          <GradersForm
            projectId={projectId}
            graders={draft.graders}
            items={sample}
            errors={errors}
            onChange={(graders) => change({ graders })}
          />
          <PanelsForm
            projectId={projectId}
            providers={providers}
            panels={draft.panels}
            taken={names}
            mayPrefer
            items={sample}
            datasetId={draft.dataset?.id}
            targetModels={[sides.a, sides.b].map(modelOf)}
            errors={errors}
            onChange={(panels) => change({ panels })}
          />
          <section className={editor.section} aria-label="How to compare">
            <h2>How to compare</h2>
            <div className={classes.fields}>
              <NumberInput
                label="Repeats"
                description="Outputs of each side for each item"
                min={1}
                max={100}
                clampBehavior="none"
                value={draft.repeats}
                onChange={(value) => change({ repeats: String(value) })}
                error={errors["body.repeats"]}
              />
              <Select
                label="Primary metric"
                description="Decides the outcome"
                placeholder={metrics[0] ?? "needs a grader or judges"}
                data={[...new Set(metrics)]}
                value={metrics.includes(draft.primary) ? draft.primary : null}
                onChange={(primary) => change({ primary: primary ?? "" })}
                disabled={metrics.length === 0}
                clearable
                error={errors["body.primary_metric"]}
              />
              <NumberInput
                label="Equivalence margin, points"
                description="Smaller differences don't matter"
                placeholder="none"
                min={0}
                max={100}
                value={draft.margin}
                onChange={(value) => change({ margin: String(value) })}
                error={errors["body.equivalence_margin"]}
              />
              <GroupBy
                value={draft.groupBy}
                items={sample}
                error={errors["body.group_by"]}
                onChange={(groupBy) => change({ groupBy })}
              />
              <NumberInput
                label="Cost cap ($)"
                description="For all calls together"
                placeholder="no cap"
                min={0}
                value={draft.maxCost}
                onChange={(value) => change({ maxCost: String(value) })}
                error={errors["body.max_cost_usd"]}
              />
            </div>
            <div className={classes.checks}>
              <Checkbox
                label="Stop early once the primary metric is decided"
                description="Tested after 40, 60 and 80 % of the items. The overall error stays at 5 %."
                checked={draft.stopEarly}
                onChange={(event) => change({ stopEarly: event.currentTarget.checked })}
                error={errors["body.stop_early"]}
              />
              <Checkbox
                label="Skip items that can't be rendered"
                description="They are counted. If off, the comparison doesn't start."
                checked={draft.skipIncompatible}
                onChange={(event) => change({ skipIncompatible: event.currentTarget.checked })}
              />
              <Checkbox
                label="Allow models without a price under the cap"
                description="Their calls count as free, so the cap doesn't limit them."
                checked={draft.allowUnpriced}
                onChange={(event) => change({ allowUnpriced: event.currentTarget.checked })}
              />
            </div>
          </section>
        </div>
        <aside className={classes.aside} aria-label="Estimate and start">
          <TextInput
            label="Name"
            placeholder="from the configurations"
            maxLength={200}
            autoComplete="off"
            value={draft.name}
            onChange={(event) => change({ name: event.currentTarget.value })}
            error={errors["body.name"]}
          />
          <EstimatePanel
            query={estimate}
            isReady={request.body !== null}
            isStale={settled !== request.body || settledGoal !== goal || estimate.isPlaceholderData}
            goal={goal}
            onGoal={setGoal}
            skips={draft.skipIncompatible}
            hasGraders={draft.graders.length + draft.panels.length > 0}
            missing={isChecked ? Object.keys(request.errors).length : 0}
            startError={create.error}
          />
          <Button type="submit" fullWidth loading={create.isPending}>
            Start comparison
          </Button>
          {draft.dataset && (
            <p className={classes.note}>
              {formatCountOf(draft.dataset.item_count, "item")} in the newest revision. Each call is a
              recorded run of the source “Evaluation”.
            </p>
          )}
        </aside>
      </div>
    </form>
  );
}

function versionOf(
  { id, version }: { id: string; version: number },
  versions: readonly PromptVersion[],
): PromptVersion | undefined {
  return versions.find((one) => one.prompt_id === id && one.version === version);
}
