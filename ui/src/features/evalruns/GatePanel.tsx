import { Button, NumberInput, Select } from "@mantine/core";
import { IconArrowDown, IconCheck, IconHelp, IconX } from "@tabler/icons-react";
import { useState } from "react";
import { useGateCheck } from "@/api/evalRuns";
import type { EvalRun, GateDecision } from "@/api/types";
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
  const [text, setText] = useState<string | number>(2);
  const metric = metrics.find((one) => one.name === name);
  const margin = metric ? readMargin(text, metric) : null;
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    if (baseline && metric && margin !== null)
      check.mutate({
        candidate: run.id,
        baseline: baseline.id,
        metric: metric.name,
        margin,
        repeated: false,
      });
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
          value={text}
          onChange={(value) => change(() => setText(typeof value === "bigint" ? Number(value) : value))}
          error={margin === null ? "A number from 0." : undefined}
        />
        <Button type="submit" disabled={baseline === null || margin === null} loading={check.isPending}>
          Check
        </Button>
      </form>
      <p className={shared.note}>
        It passes if the whole 95 % interval of the difference is above minus the margin. In CI:{" "}
        <code>result.require(…, no_worse_than=…, margin=…)</code>, where scores are from 0 to 1.
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
