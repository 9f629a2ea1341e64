import { useMemo, useState } from "react";
import { useCreateEvalRun, useEvalRunEstimate } from "@/api/evalRunJobs";
import { usePromptVersionsOf } from "@/api/prompts";
import type { Provider } from "@/api/types";
import { modelOf, readyConfiguration } from "@/components/configuration/configurationDraft";
import { EvaluationForm, type EvaluationWords } from "@/components/evaluation/EvaluationForm";
import { useDebouncedRequest } from "@/components/evaluation/useDebouncedRequest";
import { useSample } from "@/components/evaluation/useSample";
import { useStart } from "@/components/evaluation/useStart";
import { evalRunRequest, type NewEvalRun } from "./newEvalRun";
import { TargetForm } from "./TargetForm";

interface Props {
  projectId: string;
  providers: readonly Provider[];
  start: NewEvalRun;
  /** What was prefilled, and what it saves. */
  notice: string | null;
  onStarted: (id: string) => void;
}

const WORDS: EvaluationWords = {
  title: "New eval-run",
  context: "Outputs over a dataset, scored by graders and judges, with how far the scores can be trusted.",
  back: "Back to the eval-runs",
  list: "eval-runs",
  method: "How to evaluate",
  repeats: "Outputs for each item",
  primary: "Decides whether an item is scored",
  skip: "Skip items that can't be used",
  skipHint: "They are counted. If off, the eval-run doesn't start.",
  namePlaceholder: "support-agent",
  nameHint: "Eval-runs with the same name share a history",
  hint: "Name it, and choose a dataset and where outputs come from.",
  start: "Start eval-run",
};

/** The form of an eval-run, with what it may cost. */
export function EvalRunForm({ projectId, providers, start, notice, onStarted }: Props) {
  const [draft, setDraft] = useState(start);
  const chosen = draft.config.prompt;
  const { versions, error: versionError } = usePromptVersionsOf(chosen ? [chosen] : []);
  const config = useMemo(
    () => readyConfiguration(draft.config, versions, providers),
    [draft.config, versions, providers],
  );
  const request = useMemo(() => evalRunRequest(projectId, draft, config), [projectId, draft, config]);
  const debounced = useDebouncedRequest(request.body);
  const estimate = useEvalRunEstimate(debounced.body, debounced.goal);
  const create = useCreateEvalRun(projectId);
  const { errors, props } = useStart(request, debounced, estimate, create, onStarted);
  const items = useSample(draft);
  const change = (changed: Partial<NewEvalRun>) => {
    create.reset();
    setDraft((before) => ({ ...before, ...changed }));
  };
  return (
    <EvaluationForm
      testId="eval-run-form"
      words={WORDS}
      projectId={projectId}
      providers={providers}
      notice={notice}
      draft={draft}
      items={items}
      errors={errors}
      isSingle
      hasRepeats={draft.target === "config"}
      targetModels={draft.target === "config" ? [modelOf(config)] : []}
      elsewhere={
        draft.target === "external"
          ? "Your program starts the eval-run. It appears under Eval-runs as soon as it sends its first results."
          : undefined
      }
      onChange={(changed) => change(changed.dataset === undefined ? changed : { ...changed, source: "" })}
      {...props}
    >
      <TargetForm
        projectId={projectId}
        providers={providers}
        draft={draft}
        config={config}
        items={items}
        errors={errors}
        loadError={chosen && !config.version ? versionError : null}
        onChange={change}
        onConfig={(apply) => {
          create.reset();
          setDraft((before) => ({ ...before, config: apply(before.config) }));
        }}
      />
    </EvaluationForm>
  );
}
