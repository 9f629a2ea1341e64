import { Button, Checkbox, NumberInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconArrowsExchange, IconCopy } from "@tabler/icons-react";
import { useMemo, useState } from "react";
import { useComparisonEstimate, useCreateComparison, useGraderCheck } from "@/api/comparisons";
import { usePromptVersionsOf } from "@/api/prompts";
import type { Provider } from "@/api/types";
import { ConfigurationForm } from "@/components/configuration/ConfigurationForm";
import {
  type ConfigurationDraft,
  modelOf,
  readyConfiguration,
} from "@/components/configuration/configurationDraft";
import { EvaluationForm, type EvaluationWords } from "@/components/evaluation/EvaluationForm";
import { useDebouncedRequest } from "@/components/evaluation/useDebouncedRequest";
import { useSample } from "@/components/evaluation/useSample";
import { useStart } from "@/components/evaluation/useStart";
import { errorsOf } from "@/components/formErrors";
import { gradersOf } from "@/components/graders/graderDraft";
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

const WORDS: EvaluationWords = {
  title: "New comparison",
  context:
    "Every item of the dataset is answered by A and by B, and the outputs are graded and compared item by item.",
  back: "Back to the comparisons",
  list: "comparisons",
  method: "How to compare",
  repeats: "Outputs of each side for each item",
  primary: "Decides the outcome",
  skip: "Skip items that can't be rendered",
  skipHint: "They are counted. If off, the comparison doesn't start.",
  namePlaceholder: "from the configurations",
  hint: "Choose a dataset, and a model for each side.",
  start: "Start comparison",
};

/** The form of a comparison, with what it may cost. */
export function ComparisonForm({ projectId, providers, start, notice, onStarted }: Props) {
  const [draft, setDraft] = useState(start);
  const setSide = (which: Side, change: (side: ConfigurationDraft) => ConfigurationDraft) =>
    setDraft((before) => ({ ...before, [which]: change(before[which]) }));

  const choices = [draft.a.prompt, draft.b.prompt].filter((choice) => choice !== null);
  const unique = choices.filter(
    ({ id, version }, index) =>
      choices.findIndex((other) => other.id === id && other.version === version) === index,
  );
  const { versions, error: versionError } = usePromptVersionsOf(unique);
  const sides = useMemo(() => {
    const ready = (side: ConfigurationDraft) => readyConfiguration(side, versions, providers);
    return { a: ready(draft.a), b: ready(draft.b) };
  }, [draft.a, draft.b, versions, providers]);
  const request = useMemo(() => requestOf(projectId, draft, sides), [projectId, draft, sides]);
  const debounced = useDebouncedRequest(request.body);
  const estimate = useComparisonEstimate(debounced.body, debounced.goal);
  // The estimate checks the graders, too, once the rest is complete.
  const graders = useMemo(
    () => (request.body === null ? gradersOf(draft.graders) : null),
    [request.body, draft.graders],
  );
  const [debouncedGraders] = useDebouncedValue(graders, 600);
  const check = useGraderCheck(debouncedGraders && { project_id: projectId, graders: debouncedGraders });
  const create = useCreateComparison(projectId);
  const { errors: found, props } = useStart(request, debounced, estimate, create, onStarted);
  const errors = {
    ...errorsOf(graders !== null && graders === debouncedGraders ? check.error : null),
    ...found,
  };
  const items = useSample(draft);
  const change = (changed: Partial<NewComparison>) => {
    create.reset();
    setDraft((before) => ({ ...before, ...changed }));
  };
  return (
    <EvaluationForm
      words={WORDS}
      projectId={projectId}
      providers={providers}
      notice={notice}
      draft={draft}
      items={items}
      errors={errors}
      isSingle={false}
      hasRepeats
      targetModels={[sides.a, sides.b].map(modelOf)}
      more={{
        fields: (
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
        ),
        checks: (
          <Checkbox
            label="Stop early once the primary metric is decided"
            description="Tested after 40, 60 and 80 % of the items. The overall error stays at 5 %."
            checked={draft.stopEarly}
            onChange={(event) => change({ stopEarly: event.currentTarget.checked })}
            error={errors["body.stop_early"]}
          />
        ),
        at: ["body.equivalence_margin", "body.stop_early"],
        isSet: draft.margin !== "" || draft.stopEarly,
      }}
      onChange={change}
      {...props}
    >
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
            items={items}
            errors={errors}
            loadError={sides[which].draft.prompt && !sides[which].version ? versionError : null}
            onChange={(apply) => {
              create.reset();
              setSide(which, apply);
            }}
          />
        ))}
      </div>
    </EvaluationForm>
  );
}
