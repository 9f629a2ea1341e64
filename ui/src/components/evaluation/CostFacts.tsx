import type { EvaluationCost } from "@/api/types";
import { Fact, FactList } from "@/components/Fact";
import { formatCost, formatCount, NONE } from "@/components/format";
import classes from "./Evaluation.module.css";
import { callsText, costText, hasKnownCost } from "./progress";

interface Props {
  cost: EvaluationCost;
  /** In dollars; null for none. */
  cap: number | null;
  /** Calls may be under way: their cost isn't known yet. */
  isRunning: boolean;
}

/** What the calls of an evaluation cost, with all that this leaves out. */
export function CostFacts({ cost, cap, isRunning }: Props) {
  return (
    <>
      <p className={classes.lead}>{costText(cost, isRunning)}</p>
      <FactList>
        <Fact label="Known" value={hasKnownCost(cost) ? formatCost(cost.usd) : NONE} />
        <Fact
          label={isRunning ? "Under way, at most" : "Unknown, at most"}
          value={cost.unknown_calls === 0 ? NONE : formatCost(cost.unknown_at_most_usd)}
          title={`${callsText(cost.unknown_calls)} ${isRunning ? "under way or " : ""}of unknown cost`}
        />
        <Fact
          label="Without a price"
          value={cost.unpriced_calls === 0 ? NONE : callsText(cost.unpriced_calls)}
        />
        <Fact label="Calls" value={formatCount(cost.calls)} title="All requests, including retries" />
        <Fact label="Cap" value={cap === null ? "None" : formatCost(cap)} />
      </FactList>
    </>
  );
}
