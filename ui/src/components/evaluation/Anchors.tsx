import { Link } from "react-router";
import type { PanelSummary } from "@/api/types";
import { Fact, FactList } from "@/components/Fact";
import { formatCount, formatCountOf, NONE } from "@/components/format";
import { useProjectId } from "@/components/useProject";
import classes from "./Evaluation.module.css";
import { formatDifference, formatP, formatValue, intervalText } from "./measures";
import own from "./Trust.module.css";

/** Outputs of an earlier eval-run that were judged again. */
export function Anchors({ anchors }: { anchors: NonNullable<PanelSummary["anchors"]> }) {
  const projectId = useProjectId();
  const { outputs, missing, then, now, difference } = anchors;
  const points = (value: number) => formatDifference("score", value);
  const mean = ({ mean: value, ci }: typeof then) => {
    const interval = intervalText(ci, (one) => formatValue("score", one));
    return formatValue("score", value) + (interval === null ? "" : ` (${interval})`);
  };
  return (
    <div data-testid="anchors">
      <p className={classes.lead}>{anchors.sentence}</p>
      <div className={own.facts}>
        <FactList>
          <Fact
            label="Anchors"
            value={
              <>
                {formatCountOf(outputs, "output")} of{" "}
                <Link to={`/p/${projectId}/eval-runs/${anchors.eval_run_id}`}>an eval-run</Link>
                {missing > 0 && `, ${formatCount(missing)} of them without a score then or now`}
              </>
            }
          />
          <Fact label="Then" value={mean(then)} />
          <Fact label="Now" value={mean(now)} />
          <Fact
            label="Difference"
            value={
              difference.estimate === null
                ? NONE
                : `${points(difference.estimate)}${difference.ci ? ` (${intervalText(difference.ci, points)})` : ""}, p ${formatP(difference.p)}`
            }
          />
        </FactList>
      </div>
    </div>
  );
}
