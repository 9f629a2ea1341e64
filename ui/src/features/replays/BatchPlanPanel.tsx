import type { ReplayBatchPlan } from "@/api/types";
import { formatCount, formatRuns } from "@/components/format";
import { findable, PARTS, planDuration, plannedParts, refusalText } from "./batches";
import { planCalls, planCost } from "./plan";
import classes from "./Replays.module.css";

interface Props {
  plan: ReplayBatchPlan;
  isGraded: boolean;
  /** The plan is of an earlier draft. */
  isStale: boolean;
}

/** What a batch would do, cost and find. */
export function BatchPlanPanel({ plan, isGraded, isStale }: Props) {
  const cost = planCost(plan);
  const { text, canTell } = findable(plan, isGraded);
  const isDrawn = plan.matched_runs > plan.runs.filter(({ part }) => part === "chosen").length;
  return (
    <section className={classes.plan} aria-label="Plan" data-testid="batch-plan" aria-live="polite">
      <h2>What will happen</h2>
      <div className={classes.planBody}>
        {isStale && <p className={classes.note}>The form has changed since. Plan again.</p>}
        <p className={classes.cost}>
          {plan.calls === 0 ? "Free" : cost.charAt(0).toUpperCase() + cost.slice(1)}
        </p>
        <p className={classes.note}>
          {planCalls(plan)} {planDuration(plan)}
        </p>
        {plannedParts(plan).map(({ part, runs, replayable, reasons }) => (
          <div key={part} data-testid="planned-part" data-part={part}>
            <p className={classes.before}>
              <b>{PARTS[part].label}:</b> {formatCount(replayable)} of {formatRuns(runs)} can be replayed.
            </p>
            {reasons.length > 0 && (
              <ul className={classes.warnings}>
                {reasons.map(({ code, detail, runs: count }) => (
                  <li key={code} data-code={code} title={detail}>
                    {formatRuns(count)}: {refusalText(code)}
                    <span className={classes.remedy}>For example: {detail}</span>
                  </li>
                ))}
              </ul>
            )}
          </div>
        ))}
        {isDrawn && (
          <p className={classes.note}>
            The filter finds {formatRuns(plan.matched_runs)}. A sample is drawn, and drawn anew at the start.
          </p>
        )}
        <p className={classes.fit} data-can-tell={canTell} data-testid="findable">
          {text}
        </p>
        {plan.edits.length > 0 && (
          <ul className={classes.warnings} aria-label="What the edits change">
            {plan.edits.map((edit) => (
              <li key={edit}>{edit}</li>
            ))}
          </ul>
        )}
        {plan.warnings.length > 0 && (
          <ul className={classes.warnings} aria-label="Warnings">
            {plan.warnings.map(({ code, detail, remedy }) => (
              <li key={code} data-code={code}>
                {detail} <span className={classes.remedy}>{remedy}</span>
              </li>
            ))}
          </ul>
        )}
      </div>
    </section>
  );
}
