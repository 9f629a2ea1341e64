import { Link } from "react-router";
import type { Comparison, ComparisonSide } from "@/api/types";
import { Changes } from "@/components/Changes";
import { CodeBlock } from "@/components/CodeBlock";
import { pretty } from "@/components/editor/draft";
import { ConfigurationRead } from "@/components/evaluation/ConfigurationRead";
import classes from "@/components/evaluation/Evaluation.module.css";
import { formatValue } from "@/components/evaluation/measures";
import { PanelsRead } from "@/components/evaluation/PanelsRead";
import { Fact, FactList } from "@/components/Fact";
import { formatCost, NONE } from "@/components/format";
import { useProjectId } from "@/components/useProject";
import { configChanges } from "./configChanges";

/** What was compared, and how: what differs between the sides comes first. */
export function ConfigurationTab({ comparison }: { comparison: Comparison }) {
  const { a, b, graders, equivalence_margin: margin, max_cost_usd: cap } = comparison;
  return (
    <div className={classes.body}>
      <section className={classes.block} aria-label="What differs">
        <h2 className={classes.heading}>What differs</h2>
        <Changes changes={configChanges(a, b)} before={`A (${a.name})`} after={`B (${b.name})`} />
      </section>
      <div className={classes.panels}>
        <Side letter="A" side={a} />
        <Side letter="B" side={b} />
      </div>
      <section className={classes.block} aria-label="How it is compared">
        <h2 className={classes.heading}>How it is compared</h2>
        <FactList>
          <Fact label="Repeats" value={String(comparison.repeats)} />
          <Fact label="Primary metric" value={comparison.primary_metric ?? NONE} />
          <Fact
            label="Equivalence margin"
            value={margin === null ? NONE : `${formatValue("score", margin)} points`}
            title={margin === null ? "Without it, A and B are never called equivalent" : undefined}
          />
          <Fact label="Stops early" value={comparison.stop_early ? "Yes" : "No"} />
          <Fact
            label="Incompatible items"
            value={comparison.on_incompatible === "skip" ? "Skipped" : "Refused"}
          />
          <Fact label="Cost cap" value={cap === null ? "None" : formatCost(cap)} />
          <Fact
            label="Models without a price"
            value={comparison.allow_unpriced ? "Allowed" : "Refused by a cap"}
          />
          <Fact label="Order seed" value={String(comparison.seed)} />
        </FactList>
        {comparison.panels.length > 0 && (
          <>
            <h3 className={classes.subheading}>Judges</h3>
            <PanelsRead panels={comparison.panels} />
          </>
        )}
        <h3 className={classes.subheading}>Graders</h3>
        {graders.length === 0 ? (
          <p className={classes.note}>None: outputs have no scores.</p>
        ) : (
          graders.map((grader) => (
            <div key={grader.name ?? grader.type} className={classes.grader}>
              <CodeBlock
                code={pretty(grader)}
                what={`grader ${grader.name ?? grader.type}`}
                maxHeight={220}
              />
            </div>
          ))
        )}
      </section>
    </div>
  );
}

function Side({ letter, side }: { letter: string; side: ComparisonSide }) {
  const projectId = useProjectId();
  if (side.eval_run_id !== null) {
    return (
      <section className={classes.panel} aria-label={`Configuration ${letter}`} data-testid="side">
        <h2 className={classes.heading}>
          {letter}: <bdi>{side.name}</bdi>
        </h2>
        <p className={classes.lead}>
          The outputs come from <Link to={`/p/${projectId}/eval-runs/${side.eval_run_id}`}>an eval-run</Link>.
        </p>
      </section>
    );
  }
  return (
    <section className={classes.panel} aria-label={`Configuration ${letter}`} data-testid="side">
      <h2 className={classes.heading}>
        {letter}: <bdi>{side.name}</bdi>
      </h2>
      <ConfigurationRead config={side} of={letter} />
    </section>
  );
}
