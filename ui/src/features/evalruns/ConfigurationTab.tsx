import { Link } from "react-router";
import type { EvalRun, EvalRunTargetRead } from "@/api/types";
import { CodeBlock } from "@/components/CodeBlock";
import { pretty } from "@/components/editor/draft";
import { ConfigurationRead } from "@/components/evaluation/ConfigurationRead";
import classes from "@/components/evaluation/Evaluation.module.css";
import { PanelsRead } from "@/components/evaluation/PanelsRead";
import { Fact, FactList, TimeFact } from "@/components/Fact";
import { formatCost, formatCount, NONE } from "@/components/format";
import { useProjectId } from "@/components/useProject";

/** What was evaluated, and by what. */
export function ConfigurationTab({ run }: { run: EvalRun }) {
  const { target, graders, panels, max_cost_usd: cap } = run;
  return (
    <div className={classes.body}>
      <section className={classes.block} aria-label="Outputs">
        <h2 className={classes.heading}>Outputs</h2>
        <Target target={target} />
      </section>
      <section className={classes.block} aria-label="Judges">
        <h2 className={classes.heading}>Judges</h2>
        {panels.length === 0 ? <p className={classes.note}>None.</p> : <PanelsRead panels={panels} />}
      </section>
      <section className={classes.block} aria-label="Graders">
        <h2 className={classes.heading}>Graders</h2>
        {graders.length === 0 ? (
          <p className={classes.note}>
            {target.type === "external" ? "None in Looptrace: your program sent its own scores." : "None."}
          </p>
        ) : (
          graders.map((grader) => (
            <div key={grader.name} className={classes.grader}>
              <CodeBlock code={pretty(grader)} what={`grader ${grader.name}`} maxHeight={220} />
            </div>
          ))
        )}
      </section>
      <section className={classes.block} aria-label="How it is evaluated">
        <h2 className={classes.heading}>How it is evaluated</h2>
        <FactList>
          <Fact label="Repeats" value={formatCount(run.repeats)} />
          <Fact label="Primary metric" value={run.primary_metric ?? NONE} />
          <Fact label="Earlier votes" value={run.cache ? "Reused" : "Not reused"} />
          <Fact label="Incompatible items" value={run.on_incompatible === "skip" ? "Skipped" : "Refused"} />
          <Fact label="Cost cap" value={cap === null ? "None" : formatCost(cap)} />
          <Fact label="Models without a price" value={run.allow_unpriced ? "Allowed" : "Refused by a cap"} />
          <Fact label="Order seed" value={String(run.seed)} />
        </FactList>
      </section>
    </div>
  );
}

function Target({ target }: { target: EvalRunTargetRead }) {
  const projectId = useProjectId();
  switch (target.type) {
    case "external":
      return <p className={classes.lead}>Your program sent them.</p>;
    case "reference":
      return <p className={classes.lead}>The reference outputs of the items.</p>;
    case "eval_run":
      return (
        <p className={classes.lead}>
          {target.labelled ? "Those with a label of a person of " : "Those of "}
          <Link to={`/p/${projectId}/eval-runs/${target.eval_run_id}`}>an eval-run</Link>.
        </p>
      );
    case "runs":
      return (
        <FactList>
          <Fact label="Recorded runs" value={target.run_filter ? <bdi>{target.run_filter}</bdi> : "All"} />
          <TimeFact label="From" time={target.from} />
          <TimeFact label="Until" time={target.to} />
          <Fact label="At most" value={target.max_runs === null ? NONE : formatCount(target.max_runs)} />
          {target.runs && (
            <>
              <Fact label="Matched" value={formatCount(target.runs.matched)} />
              <Fact
                label="Evaluated"
                value={`${formatCount(target.runs.evaluated)} of ${formatCount(target.runs.selected)}`}
              />
              {target.runs.skipped.map(({ reason, runs }) => (
                <Fact key={reason} label={`Left out: ${formatCount(runs)}`} value={<bdi>{reason}</bdi>} />
              ))}
              {target.runs.other_skipped > 0 && (
                <Fact
                  label={`Left out: ${formatCount(target.runs.other_skipped)}`}
                  value="For other reasons"
                />
              )}
            </>
          )}
        </FactList>
      );
    case "config":
      return (
        target.config && (
          <>
            <FactList>
              <Fact label="Configuration" value={target.config.name} />
            </FactList>
            <ConfigurationRead config={target.config} of="the target" />
          </>
        )
      );
  }
}
