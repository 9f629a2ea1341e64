import { IconAlertTriangle } from "@tabler/icons-react";
import type { Comparison } from "@/api/types";
import classes from "@/components/evaluation/Evaluation.module.css";
import { estimateText } from "@/components/evaluation/estimate";
import { callsText, costText, hasKnownCost } from "@/components/evaluation/progress";
import { Fact, FactList } from "@/components/Fact";
import { formatCost, formatCount, NONE } from "@/components/format";
import { type SideModels, sideModels } from "./sideModels";

/** What a comparison cost, what it was to cost, and which models answered. */
export function CostPanel({ comparison }: { comparison: Comparison }) {
  const { cost, estimate, summary, max_cost_usd: cap } = comparison;
  return (
    <section aria-label="Cost and models" className={classes.panel} data-testid="cost">
      <h2 className={classes.heading}>Cost</h2>
      <p className={classes.lead}>{costText(cost)}</p>
      <FactList>
        <Fact label="Known" value={hasKnownCost(cost) ? formatCost(cost.usd) : NONE} />
        <Fact
          label="Unknown, at most"
          value={cost.unknown_calls === 0 ? NONE : formatCost(cost.unknown_at_most_usd)}
          title={`${callsText(cost.unknown_calls)} of unknown cost`}
        />
        <Fact
          label="Without a price"
          value={cost.unpriced_calls === 0 ? NONE : callsText(cost.unpriced_calls)}
        />
        <Fact label="Calls" value={formatCount(cost.calls)} title="All requests, repeated ones among them" />
        <Fact label="Cap" value={cap === null ? "None" : formatCost(cap)} />
      </FactList>
      <p className={classes.note}>Estimate: {estimateText(estimate)}</p>
      {summary && (
        <>
          <h3 className={classes.subheading}>Models that answered</h3>
          {(["a", "b"] as const).map((side) => (
            <Models key={side} side={side} models={sideModels(summary.models, side)} />
          ))}
        </>
      )}
    </section>
  );
}

/** More fingerprints are counted. */
const MAX_FINGERPRINTS = 3;

function Models({ side, models }: { side: "a" | "b"; models: SideModels[] }) {
  const variants = models.reduce((sum, { fingerprints }) => sum + Math.max(1, fingerprints.length), 0);
  return (
    <div className={classes.models} data-testid="models" data-side={side}>
      <strong>{side.toUpperCase()}</strong>
      <div>
        {models.length === 0 && <span className={classes.dim}>None</span>}
        {models.map(({ model, outputs, fingerprints }) => (
          <div key={model}>
            {model}{" "}
            <span className={classes.dim}>
              {formatCount(outputs)} {outputs === 1 ? "output" : "outputs"}
              {fingerprints.length > 0 && (
                <>
                  ,{" "}
                  {fingerprints.length === 1
                    ? "fingerprint"
                    : `${formatCount(fingerprints.length)} fingerprints`}{" "}
                  <code>{fingerprints.slice(0, MAX_FINGERPRINTS).join(", ")}</code>
                  {fingerprints.length > MAX_FINGERPRINTS && " …"}
                </>
              )}
            </span>
          </div>
        ))}
        {variants > 1 && (
          <p className={classes.warning} role="note" data-testid="drift">
            <IconAlertTriangle size={14} aria-hidden="true" />
            More than one model or fingerprint answered. The provider may have changed the model while this
            ran, so doubt the result.
          </p>
        )}
      </div>
    </div>
  );
}
