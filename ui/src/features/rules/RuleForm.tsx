import { Autocomplete, Button, Checkbox, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useMemo, useState } from "react";
import { useNavigate } from "react-router";
import { type EvalRuleDraft, useEvalRulePreview } from "@/api/evalRules";
import type { EvalRule, EvalRuleUpdate, Provider } from "@/api/types";
import editor from "@/components/editor/Editor.module.css";
import classes from "@/components/evaluation/StartForm.module.css";
import { RunFilterField } from "@/components/filters/RunFilterField";
import { errorsOf, shownEarly } from "@/components/formErrors";
import { GradersForm } from "@/components/graders/GradersForm";
import { PageHeader } from "@/components/PageHeader";
import { ProblemPanel } from "@/components/ProblemPanel";
import { PanelsForm } from "@/components/panels/PanelsForm";
import { samplesOfRuns } from "@/components/panels/samples";
import { PreviewPanel } from "./PreviewPanel";
import { changesOf, filterPreview, isNewVersion, type RuleDraft, ruleRequest } from "./ruleDraft";

interface Props {
  projectId: string;
  providers: readonly Provider[];
  start: RuleDraft;
  /** The rule that is changed; null for a new one. */
  rule: EvalRule | null;
  /** What was prefilled. */
  notice: string | null;
  save: { isPending: boolean; error: Error | null; reset: () => void };
  /** Gets the whole rule, and what differs from `start`. */
  onSave: (body: EvalRuleDraft, changes: Partial<EvalRuleUpdate>) => void;
}

/** The form of a rule, with which runs it would take and what they would cost. */
export function RuleForm({ projectId, providers, start, rule, notice, save, onSave }: Props) {
  const navigate = useNavigate();
  const [draft, setDraft] = useState(start);
  // Errors of empty fields appear once someone tried to save it.
  const [isChecked, setChecked] = useState(false);
  const request = useMemo(() => ruleRequest(projectId, draft), [projectId, draft]);
  const before = useMemo(() => ruleRequest(projectId, start).body, [projectId, start]);
  const previewed = useMemo(
    () => ({ body: request.body ?? filterPreview(projectId, draft), isWhole: request.body !== null }),
    [projectId, draft, request.body],
  );
  const [debounced] = useDebouncedValue(previewed, 500);
  const preview = useEvalRulePreview(debounced.body);
  const samples = useMemo(() => samplesOfRuns(preview.data?.examples ?? []), [preview.data]);
  const errors = {
    ...(isChecked ? request.errors : shownEarly(request.errors)),
    ...errorsOf(debounced === previewed ? preview.error : null),
    ...errorsOf(save.error),
  };
  const changes = useMemo(
    () => (before && request.body ? changesOf(before, request.body) : {}),
    [before, request.body],
  );
  const isUnchanged = rule !== null && request.body !== null && Object.keys(changes).length === 0;
  const missing = isChecked ? Object.keys(request.errors).length : 0;
  const home = rule ? `/p/${projectId}/rules/${rule.id}` : `/p/${projectId}/rules`;
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    setChecked(true);
    if (request.body) onSave(request.body, changes);
  };
  const change = (changed: Partial<RuleDraft>) => {
    save.reset();
    setDraft((current) => ({ ...current, ...changed }));
  };
  const graders = draft.graders.map(({ name }) => name).filter((name) => name.trim() !== "");
  return (
    <form className={classes.page} onSubmit={submit} data-testid="rule-form">
      <PageHeader
        title={rule ? `Edit “${rule.name}”` : "New rule"}
        back={{ label: rule ? "Back to the rule" : "Back to the rules", onClick: () => navigate(home) }}
        context="Scores a share of the runs that match, once they have ended. The runs get the scores."
      />
      <div className={classes.body}>
        <div className={classes.main}>
          {notice && (
            <p className={classes.notice} data-testid="prefilled">
              {notice}
            </p>
          )}
          <section className={editor.section} aria-label="Runs" data-testid="rule-runs">
            <h2>Runs</h2>
            <RunFilterField
              value={draft.runs}
              onChange={(runs) => change({ runs })}
              forRules
              error={errors["body.run_filter"]}
            />
            <TextInput
              maw={320}
              label="Sample (%)"
              description="The share of the matching runs that is scored, by chance"
              inputMode="decimal"
              value={draft.sample}
              onChange={(event) => change({ sample: event.currentTarget.value })}
              error={errors["body.sample_rate"]}
            />
            <Autocomplete
              maw={320}
              label="Runs belong together by"
              description="Runs of one session tend to be alike: the intervals of a day count groups, not runs"
              data={["session", "user", "metadata.customer"]}
              maxLength={500}
              value={draft.groupBy}
              onChange={(groupBy) => change({ groupBy })}
              error={errors["body.group_by"]}
            />
          </section>
          <GradersForm
            projectId={projectId}
            graders={draft.graders}
            items={[]}
            runs={samples}
            errors={errors}
            onChange={(changed) => change({ graders: changed })}
          />
          <PanelsForm
            projectId={projectId}
            providers={providers}
            panels={draft.panels}
            taken={graders}
            mayPrefer={false}
            items={[]}
            runs={samples}
            datasetId={undefined}
            targetModels={[]}
            errors={errors}
            onChange={(panels) => change({ panels })}
          />
          {(draft.panels.length > 0 || draft.budget !== "") && (
            <section className={editor.section} aria-label="Budget">
              <h2>Budget</h2>
              <TextInput
                maw={320}
                label="Daily budget ($)"
                description="The most that its judges may spend per day (UTC)"
                inputMode="decimal"
                value={draft.budget}
                onChange={(event) => change({ budget: event.currentTarget.value })}
                error={errors["body.max_cost_usd_per_day"]}
              />
              <div className={classes.checks}>
                <Checkbox
                  label="Allow models without a price"
                  description="Their calls count as free, so the budget doesn't limit them."
                  checked={draft.allowUnpriced}
                  onChange={(event) => change({ allowUnpriced: event.currentTarget.checked })}
                  error={errors["body.allow_unpriced"]}
                />
              </div>
            </section>
          )}
        </div>
        <aside className={classes.aside} aria-label="Preview and save">
          <TextInput
            label="Name"
            placeholder="support is helpful"
            maxLength={200}
            autoComplete="off"
            value={draft.name}
            onChange={(event) => change({ name: event.currentTarget.value })}
            error={errors["body.name"]}
          />
          <Button type="submit" fullWidth loading={save.isPending} disabled={isUnchanged}>
            {rule ? "Save" : "Create rule"}
          </Button>
          {missing > 0 && (
            <p className={classes.note} role="status">
              {missing === 1 ? "1 field needs" : `${missing} fields need`} fixing first.
            </p>
          )}
          {save.error && <ProblemPanel error={save.error} />}
          {rule && isNewVersion(changes) && (
            <p className={classes.note} data-testid="new-version">
              It becomes version {rule.version + 1}: scores before and after are shown separately. Runs
              sampled before aren't scored again.
            </p>
          )}
          <PreviewPanel
            query={preview}
            isOff={previewed.body === null}
            isStale={debounced !== previewed || preview.isPlaceholderData}
            isWhole={debounced.isWhole}
            budget={draft.budget.trim() === "" ? undefined : Number(draft.budget)}
          />
        </aside>
      </div>
    </form>
  );
}
