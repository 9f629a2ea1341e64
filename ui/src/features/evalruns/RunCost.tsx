import { hasEnded } from "@/api/comparisons";
import type { EvalRun, EvaluationCost } from "@/api/types";
import { CostFacts } from "@/components/evaluation/CostFacts";
import classes from "@/components/evaluation/Evaluation.module.css";
import { estimateText } from "@/components/evaluation/estimate";
import { judgeCost } from "@/components/evaluation/trust";
import { votesText } from "@/components/evaluation/votes";
import { Fact, FactList } from "@/components/Fact";
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
      <CostFacts cost={cost} cap={cap} isRunning={!hasEnded(run)} />
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
      {estimate && estimate.calls > 0 && (
        <p className={classes.note}>Estimate before the start: {estimateText(estimate)}</p>
      )}
    </section>
  );
}
