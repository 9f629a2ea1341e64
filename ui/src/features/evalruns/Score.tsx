import type { EvalRunMetric } from "@/api/types";
import { itemsText } from "@/components/evaluation/estimate";
import { Interval } from "@/components/evaluation/Interval";
import { formatValue } from "@/components/evaluation/measures";
import classes from "./EvalRuns.module.css";
import { scoreText, sharesText } from "./evalRuns";

/** A score with its interval and how many items it has. */
export function Score({ metric }: { metric: EvalRunMetric }) {
  const format = (value: number) => formatValue(metric.kind, value);
  return (
    <span className={classes.score} title={scoreText(metric)}>
      {metric.categories === null ? formatValue(metric.kind, metric.mean) : sharesText(metric.categories)}{" "}
      <span className={classes.dim}>
        <bdi>{metric.name}</bdi>
      </span>
      <Interval ci={metric.ci} format={format} />{" "}
      <span className={classes.dim}>over {itemsText(metric.n)}</span>
    </span>
  );
}
