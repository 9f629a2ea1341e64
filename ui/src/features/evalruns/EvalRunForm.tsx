import { Button, Checkbox, NumberInput, Select, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useMemo, useState } from "react";
import { useNavigate } from "react-router";
import { useDatasetItems } from "@/api/datasets";
import { useCreateEvalRun, useEvalRunEstimate } from "@/api/evalRunJobs";
import { usePromptVersionsOf } from "@/api/prompts";
import type { Provider } from "@/api/types";
import { modelOf, providerOf } from "@/components/configuration/configurationDraft";
import { DatasetChoice } from "@/components/DatasetChoice";
import editor from "@/components/editor/Editor.module.css";
import { EstimatePanel } from "@/components/evaluation/EstimatePanel";
import { goalOf, NO_GOAL } from "@/components/evaluation/forecast";
import { GroupBy } from "@/components/evaluation/GroupBy";
import classes from "@/components/evaluation/StartForm.module.css";
import { formatCountOf } from "@/components/format";
import { errorsOf, shownEarly } from "@/components/formErrors";
import { GradersForm } from "@/components/graders/GradersForm";
import { PageHeader } from "@/components/PageHeader";
import { PanelsForm } from "@/components/panels/PanelsForm";
import { evalRunRequest, type NewEvalRun } from "./newEvalRun";
import { EvalRunChoice, TargetForm } from "./TargetForm";

interface Props {
  projectId: string;
  providers: readonly Provider[];
  start: NewEvalRun;
  /** What was prefilled, and what it saves. */
  notice: string | null;
  onStarted: (id: string) => void;
}

/** The form of an eval-run, with what it may cost. */
export function EvalRunForm({ projectId, providers, start, notice, onStarted }: Props) {
  const navigate = useNavigate();
  const [draft, setDraft] = useState(start);
  // Errors of empty fields appear once someone tried to start it.
  const [isChecked, setChecked] = useState(false);
  const chosen = draft.config.prompt;
  const { versions, error: versionError } = usePromptVersionsOf(chosen ? [chosen] : []);
  const config = useMemo(() => {
    const version = versions.find(
      (one) => one.prompt_id === draft.config.prompt?.id && one.version === draft.config.prompt.version,
    );
    return { draft: draft.config, version, providerId: providerOf(draft.config, version, providers) };
  }, [draft.config, versions, providers]);
  const request = useMemo(() => evalRunRequest(projectId, draft, config), [projectId, draft, config]);
  const [settled] = useDebouncedValue(request.body, 600);
  const [goal, setGoal] = useState(NO_GOAL);
  const [settledGoal] = useDebouncedValue(goal, 600);
  const estimate = useEvalRunEstimate(settled, goalOf(settledGoal));
  const create = useCreateEvalRun(projectId);
  const errors = {
    ...(isChecked ? request.errors : shownEarly(request.errors)),
    ...errorsOf(request.body !== null && request.body === settled ? estimate.error : null),
    ...errorsOf(create.error),
  };
  const items = useDatasetItems(
    draft.dataset?.id ?? "",
    {
      revision: draft.revision === "" ? undefined : Number(draft.revision),
      split: draft.split.trim() || undefined,
    },
    draft.dataset !== null,
  );
  const sample = items.data?.pages[0]?.data ?? [];
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    setChecked(true);
    if (request.body) create.mutate(request.body, { onSuccess: ({ id }) => onStarted(id) });
  };
  const change = (changed: Partial<NewEvalRun>) => {
    create.reset();
    setDraft((before) => ({ ...before, ...changed }));
  };
  const isExternal = draft.target === "external";
  const graders = draft.graders.map(({ name }) => name).filter((name) => name.trim() !== "");
  const metrics = [...draft.panels.map(({ name }) => name.trim()).filter((name) => name !== ""), ...graders];
  return (
    <form className={classes.page} onSubmit={submit} data-testid="eval-run-form">
      <PageHeader
        title="New eval-run"
        back={{ label: "Back to the eval-runs", onClick: () => navigate(`/p/${projectId}/eval-runs`) }}
        context="Outputs over a dataset, scored by graders and judges, with how far the scores can be trusted."
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
                  onChange={(dataset) =>
                    change({ dataset, revision: "", split: "", source: "", anchors: "" })
                  }
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
              <GroupBy
                value={draft.groupBy}
                items={sample}
                error={errors["body.group_by"]}
                onChange={(groupBy) => change({ groupBy })}
              />
            </div>
          </section>
          <TargetForm
            projectId={projectId}
            providers={providers}
            draft={draft}
            config={config}
            items={sample}
            errors={errors}
            loadError={chosen && !config.version ? versionError : null}
            onChange={change}
            onConfig={(apply) => {
              create.reset();
              setDraft((before) => ({ ...before, config: apply(before.config) }));
            }}
          />
          {!isExternal && (
            <>
              <GradersForm
                projectId={projectId}
                graders={draft.graders}
                items={sample}
                errors={errors}
                onChange={(changed) => change({ graders: changed })}
              />
              <PanelsForm
                projectId={projectId}
                providers={providers}
                panels={draft.panels}
                taken={graders}
                mayPrefer={false}
                items={sample}
                datasetId={draft.dataset?.id}
                targetModels={draft.target === "config" ? [modelOf(config)] : []}
                errors={errors}
                onChange={(panels) => change({ panels })}
              />
              <section className={editor.section} aria-label="How to evaluate">
                <h2>How to evaluate</h2>
                <div className={classes.fields}>
                  {draft.target === "config" && (
                    <NumberInput
                      label="Repeats"
                      description="Outputs for each item"
                      min={1}
                      max={100}
                      clampBehavior="none"
                      value={draft.repeats}
                      onChange={(value) => change({ repeats: String(value) })}
                      error={errors["body.repeats"]}
                    />
                  )}
                  <Select
                    label="Primary metric"
                    description="Decides whether an item is scored"
                    placeholder={metrics[0] ?? "needs a grader or judges"}
                    data={[...new Set(metrics)]}
                    value={metrics.includes(draft.primary) ? draft.primary : null}
                    onChange={(primary) => change({ primary: primary ?? "" })}
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
                    onChange={(value) => change({ maxCost: String(value) })}
                    error={errors["body.max_cost_usd"]}
                  />
                </div>
                <div className={classes.checks}>
                  {draft.panels.length > 0 && (
                    <>
                      <div className={classes.fields}>
                        <div className={classes.wide}>
                          <EvalRunChoice
                            projectId={projectId}
                            datasetId={draft.dataset?.id}
                            label="Anchors"
                            description="Judges outputs of an earlier eval-run again, to see whether the judges have drifted"
                            placeholder="none"
                            value={draft.anchors}
                            error={errors["body.anchors.eval_run_id"] ?? errors["body.anchors"]}
                            onChange={(anchors) => change({ anchors })}
                          />
                        </div>
                        {draft.anchors !== "" && (
                          <NumberInput
                            label="Outputs"
                            description="Labelled outputs first"
                            min={1}
                            max={100}
                            clampBehavior="none"
                            value={draft.anchorLimit}
                            onChange={(value) => change({ anchorLimit: String(value) })}
                            error={errors["body.anchors.limit"]}
                          />
                        )}
                      </div>
                      <Checkbox
                        label="Reuse earlier votes"
                        description="Votes of the same judge on the same texts and repeat cost nothing."
                        checked={draft.cache}
                        onChange={(event) => change({ cache: event.currentTarget.checked })}
                      />
                    </>
                  )}
                  <Checkbox
                    label="Skip items that can't be used"
                    description="They are counted. If off, the eval-run doesn't start."
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
            </>
          )}
        </div>
        <aside className={classes.aside} aria-label="Estimate and start">
          <TextInput
            label="Name"
            description="Eval-runs with the same name share a history"
            placeholder="support-agent"
            maxLength={200}
            autoComplete="off"
            value={draft.name}
            onChange={(event) => change({ name: event.currentTarget.value })}
            error={errors["body.name"]}
          />
          {isExternal ? (
            <p className={classes.note}>
              Your program starts the eval-run. It appears under Eval-runs as soon as it sends its first
              results.
            </p>
          ) : (
            <>
              <EstimatePanel
                query={estimate}
                isReady={request.body !== null}
                isStale={settled !== request.body || settledGoal !== goal || estimate.isPlaceholderData}
                goal={goal}
                onGoal={setGoal}
                hint="Name it, and choose a dataset and where outputs come from."
                isSingle
                skips={draft.skipIncompatible}
                hasGraders={draft.graders.length + draft.panels.length > 0}
                missing={isChecked ? Object.keys(request.errors).length : 0}
                startError={create.error}
              />
              <Button type="submit" fullWidth loading={create.isPending}>
                Start eval-run
              </Button>
              {draft.dataset && (
                <p className={classes.note}>
                  {formatCountOf(draft.dataset.item_count, "item")} in the newest revision. Each call is a
                  recorded run of the source “Evaluation”.
                </p>
              )}
            </>
          )}
        </aside>
      </div>
    </form>
  );
}
