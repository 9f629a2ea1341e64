import { IconAlertTriangle } from "@tabler/icons-react";
import { hasEnded } from "@/api/comparisons";
import type { Comparison } from "@/api/types";
import { CostFacts } from "@/components/evaluation/CostFacts";
import classes from "@/components/evaluation/Evaluation.module.css";
import { estimateText } from "@/components/evaluation/estimate";
import { formatCount } from "@/components/format";
import { type SideModels, sideModels } from "./sideModels";

/** What a comparison cost, what it was to cost, and which models answered. */
export function CostPanel({ comparison }: { comparison: Comparison }) {
  const { cost, estimate, summary, max_cost_usd: cap } = comparison;
  return (
    <section aria-label="Cost and models" className={classes.panel} data-testid="cost">
      <h2 className={classes.heading}>Cost</h2>
      <CostFacts cost={cost} cap={cap} isRunning={!hasEnded(comparison)} />
      {estimate.calls > 0 && (
        <p className={classes.note}>Estimate before the start: {estimateText(estimate)}</p>
      )}
      {summary && (
        <>
          <h3 className={classes.subheading}>Models that answered</h3>
          {(["a", "b"] as const).map((side) => (
            <Models
              key={side}
              side={side}
              models={sideModels(summary.models, side)}
              isCut={summary.other_models > 0}
            />
          ))}
          {summary.other_models > 0 && (
            <p className={classes.note}>
              {formatCount(summary.other_models)} more outputs are from models and fingerprints that aren't
              listed.
            </p>
          )}
        </>
      )}
    </section>
  );
}

/** More fingerprints are counted. */
const MAX_FINGERPRINTS = 3;

interface ModelsProps {
  side: "a" | "b";
  models: SideModels[];
  /** There are more models than listed. */
  isCut: boolean;
}

function Models({ side, models, isCut }: ModelsProps) {
  const variants = models.reduce((sum, { fingerprints }) => sum + Math.max(1, fingerprints.length), 0);
  return (
    <div className={classes.models} data-testid="models" data-side={side}>
      <strong>{side.toUpperCase()}</strong>
      <div>
        {models.length === 0 && <span className={classes.dim}>{isCut ? "Not listed" : "None"}</span>}
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
            ran, so treat the result with care.
          </p>
        )}
      </div>
    </div>
  );
}
