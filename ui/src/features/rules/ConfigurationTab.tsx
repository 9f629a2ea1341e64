import { Link } from "react-router";
import type { EvalRule } from "@/api/types";
import { Ago } from "@/components/Ago";
import { CodeBlock } from "@/components/CodeBlock";
import { pretty } from "@/components/editor/draft";
import classes from "@/components/evaluation/Evaluation.module.css";
import { PanelsRead } from "@/components/evaluation/PanelsRead";
import { Fact, FactList } from "@/components/Fact";
import { filterWords } from "@/components/filters/runFilter";
import { formatCost } from "@/components/format";
import { useProjectId } from "@/components/useProject";
import { sampleText } from "./rules";

/** Which runs a rule takes, and what scores them. */
export function ConfigurationTab({ rule, now }: { rule: EvalRule; now: number }) {
  const { panels, graders, max_cost_usd_per_day: budget } = rule;
  const projectId = useProjectId();
  return (
    <div className={classes.body}>
      <section className={classes.block} aria-label="Runs">
        <h2 className={classes.heading}>Runs</h2>
        <FactList>
          <Fact
            label="Runs with"
            value={
              <Link to={`/p/${projectId}/runs?${rule.run_filter}&range=all`}>
                <bdi>{filterWords(rule.run_filter) || "Any: all runs"}</bdi>
              </Link>
            }
          />
          <Fact
            label="Sample"
            value={rule.sample_rate === 1 ? "All of them" : sampleText(rule.sample_rate)}
          />
          <Fact
            label="Runs belong together by"
            value={<bdi>{rule.group_by}</bdi>}
            title="The intervals of a day have these groups of runs as units"
          />
          <Fact label="Daily budget" value={budget === null ? "None" : formatCost(budget)} />
          <Fact label="Models without a price" value={rule.allow_unpriced ? "Allowed" : "Refused"} />
          <Fact label="Version" value={String(rule.version)} />
          <Fact label="Changed" value={<Ago time={rule.updated_at} now={now} />} />
        </FactList>
      </section>
      <section className={classes.block} aria-label="Graders">
        <h2 className={classes.heading}>Graders</h2>
        {graders.length === 0 ? (
          <p className={classes.note}>None.</p>
        ) : (
          graders.map((grader) => (
            <div key={grader.name} className={classes.grader}>
              <CodeBlock code={pretty(grader)} what={`grader ${grader.name}`} maxHeight={220} />
            </div>
          ))
        )}
      </section>
      <section className={classes.block} aria-label="Judges">
        <h2 className={classes.heading}>Judges</h2>
        {panels.length === 0 ? <p className={classes.note}>None.</p> : <PanelsRead panels={panels} />}
      </section>
    </div>
  );
}
