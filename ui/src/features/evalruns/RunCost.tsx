import type { EvalRun, EvaluationCost } from "@/api/types";
import classes from "@/components/evaluation/Evaluation.module.css";
import { callsText, costText, hasKnownCost } from "@/components/evaluation/progress";
import { judgeCost } from "@/components/evaluation/trust";
import { votesText } from "@/components/evaluation/votes";
import { Fact, FactList } from "@/components/Fact";
import { formatCost, formatCount, NONE } from "@/components/format";
import own from "./EvalRuns.module.css";

/** What the calls of an eval-run cost, those of each judge among them. */
export function RunCost({ run, cost }: { run: EvalRun; cost: EvaluationCost }) {
  const { estimate, summary, max_cost_usd: cap } = run;
  const judges = (summary?.panels ?? []).flatMap((panel) =>
    panel.judges.map((judge) => ({ panel: panel.name, judge })),
  );
  return (
    <section aria-label="Cost" className={`${classes.panel} ${own.cost}`} data-testid="cost">
      <h2 className={classes.heading}>Cost</h2>
      <p className={classes.lead}>{costText(cost)}</p>
      <FactList>
        <Fact label="Known" value={hasKnownCost(cost) ? formatCost(cost.usd) : NONE} />
        <Fact
          label="Unknown, at most"
          value={cost.unknown_calls === 0 ? NONE : formatCost(cost.unknown_at_most_usd)}
          title={`${callsText(cost.unknown_calls)} of unknown cost`}
        />
        <Fact label="Calls" value={formatCount(cost.calls)} title="All requests, repeated ones among them" />
        <Fact label="Cap" value={cap === null ? "None" : formatCost(cap)} />
      </FactList>
      {judges.length > 0 && (
        <>
          <h3 className={classes.subheading}>Of judges</h3>
          <FactList>
            {judges.map(({ panel, judge }) => (
              <Fact
                key={`${panel} ${judge.name}`}
                label={`${panel}: ${judge.name}`}
                value={judgeCost(judge)}
                title={votesText(judge.votes)}
              />
            ))}
          </FactList>
        </>
      )}
      {estimate && (
        <p className={classes.note}>
          Estimate before the start:{" "}
          {estimate.cost_low_usd === null
            ? "unknown"
            : estimate.cost_high_usd === null
              ? `at least ${formatCost(estimate.cost_low_usd)}`
              : `${formatCost(estimate.cost_low_usd)} to ${formatCost(estimate.cost_high_usd)}`}{" "}
          for {callsText(estimate.calls)}, {formatCount(estimate.judge_calls)} of them of judges.
        </p>
      )}
    </section>
  );
}
