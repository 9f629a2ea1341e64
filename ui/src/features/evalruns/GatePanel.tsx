import { Button, NumberInput, Select } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconArrowDown, IconCheck, IconHelp, IconX } from "@tabler/icons-react";
import { useMemo, useState } from "react";
import { useGateCheck, useGatePlan } from "@/api/evalRuns";
import type { EvalRun, GateCheck, GateDecision } from "@/api/types";
import shared from "@/components/evaluation/Evaluation.module.css";
import { ProblemPanel } from "@/components/ProblemPanel";
import { BaselineChoice } from "./BaselineChoice";
import classes from "./EvalRuns.module.css";
import { DECISIONS, gateMetrics, gateNotes, readMargin } from "./evalRuns";

/** Checks whether the eval-run is worse than a baseline, as a gate in CI does. */
export function GatePanel({ run }: { run: EvalRun }) {
  const check = useGateCheck();
  const metrics = gateMetrics(run);
  const [baseline, setBaseline] = useState<EvalRun | null>(null);
  const [name, setName] = useState(metrics[0]?.name ?? "");
  const [text, setText] = useState<string | number>("");
  const metric = metrics.find((one) => one.name === name);
  // Without one the server takes what the items support.
  const margin = text === "" ? undefined : metric ? readMargin(text, metric) : null;
  const question = useMemo<GateCheck | null>(
    () =>
      baseline && margin !== null && name !== ""
        ? { candidate: run.id, baseline: baseline.id, metric: name, margin, repeated: false }
        : null,
    [run.id, baseline, name, margin],
  );
  const [debounced] = useDebouncedValue(question, 400);
  const plan = useGatePlan(debounced);
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    if (question) check.mutate(question);
  };
  // A decision is only about what it was asked.
  const change = (set: () => void) => {
    set();
    check.reset();
  };
  return (
    <section className={shared.block} aria-label="Gate" data-testid="gate">
      <h2 className={shared.heading}>Is it worse than a baseline?</h2>
      <form className={classes.form} onSubmit={submit}>
        <BaselineChoice
          run={run}
          label="Baseline"
          value={baseline}
          onChange={(value) => change(() => setBaseline(value))}
        />
        <Select
          label="Metric"
          w={180}
          data={metrics.map((one) => ({ value: one.name, label: one.label }))}
          value={name}
          allowDeselect={false}
          onChange={(value) => change(() => setName(value ?? name))}
        />
        <NumberInput
          label={`Margin (${metric?.unit})`}
          w={180}
          min={0}
          placeholder="what the items support"
          value={text}
          onChange={(value) => change(() => setText(typeof value === "bigint" ? Number(value) : value))}
          error={margin === null ? "A number from 0." : undefined}
        />
        <Button type="submit" disabled={question === null} loading={check.isPending}>
          Check
        </Button>
      </form>
      {debounced !== null && plan.data && (
        <p className={shared.note} data-testid="gate-plan" aria-live="polite">
          {plan.data.sentence}
        </p>
      )}
      <p className={shared.note}>
        It passes if the whole 95 % interval of the difference is above minus the margin. In CI:{" "}
        <code>result.require(…, no_worse_than=…)</code>, with <code>margin=…</code> from 0 to 1 for a margin
        of your own.
      </p>
      {check.error && <ProblemPanel error={check.error} />}
      {check.data && <Decision decision={check.data} />}
    </section>
  );
}

const icons = { pass: IconCheck, regression: IconArrowDown, inconclusive: IconHelp, incomplete: IconX };

function Decision({ decision }: { decision: GateDecision }) {
  const Shape = icons[decision.decision];
  return (
    <div
      className={`${shared.sentence} ${classes.decision}`}
      role="status"
      data-testid="decision"
      data-decision={decision.decision}
    >
      <span className={classes.mark} data-decision={decision.decision}>
        <Shape size={14} stroke={2} aria-hidden="true" />
        {DECISIONS[decision.decision]}
      </span>
      <p>{decision.sentence}</p>
      <p className={shared.note}>{gateNotes(decision).join(" ")}</p>
    </div>
  );
}
