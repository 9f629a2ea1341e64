import { Link } from "react-router";
import type { Comparison, ComparisonMetric, EvaluationDifference } from "@/api/types";
import { type Column, DataTable } from "@/components/DataTable";
import classes from "@/components/evaluation/Evaluation.module.css";
import { Interval } from "@/components/evaluation/Interval";
import { Verdict } from "@/components/evaluation/Marks";
import {
  axisBound,
  differenceText,
  effectOf,
  flagText,
  formatDifference,
  formatP,
  formatValue,
  isInPoints,
  labelsWhy,
  metricLabel,
  placeOf,
  testName,
} from "@/components/evaluation/measures";
import { formatCount, formatCountOf, formatPercent, NONE } from "@/components/format";
import { IntervalBar } from "./IntervalBar";
import { LABELS_AT } from "./itemsPlace";

interface Props {
  comparison: Comparison;
  summary: NonNullable<Comparison["summary"]>;
}

/** A difference of a metric: over the items that both sides have, or with 0 for every output that failed. */
interface Row {
  metric: ComparisonMetric;
  difference: EvaluationDifference;
  isIntentionToTreat: boolean;
}

/** All metrics with their differences on common axes: scores in points, the rest in percent of A. */
export function MetricsTable({ comparison, summary }: Props) {
  const groups = [
    { title: "Scores", inPoints: true },
    { title: "Cost and time", inPoints: false },
  ];
  const tested = summary.metrics.filter(({ difference }) => difference.p !== null).length;
  return (
    <section aria-label="Metrics" className={classes.metrics}>
      {groups.map(({ title, inPoints }) => {
        const metrics = summary.metrics.filter(({ kind }) => isInPoints(kind) === inPoints);
        // Without any value, a table of dashes says nothing. Why there is none is told elsewhere.
        const hasValues = metrics.some(
          ({ difference, intention_to_treat: treated }) => difference.n > 0 || (treated?.n ?? 0) > 0,
        );
        if (!hasValues) return null;
        return (
          <Group
            key={title}
            title={title}
            comparison={comparison}
            metrics={metrics}
            primary={summary.primary_metric}
          />
        );
      })}
      <p className={classes.note}>
        Differences are B minus A, with 95 % intervals.{" "}
        {tested > 1 &&
          `p values are adjusted for testing ${formatCountOf(tested, "metric")} (Holm${summary.primary_metric === null ? "" : ", most of the 5 % for the primary one"}).`}{" "}
        A verdict needs an adjusted p of at most 0.05, an interval without 0, and the same verdict with failed
        outputs as 0. Detectable: the true difference that this many items would show in 80 % of such
        comparisons.
      </p>
    </section>
  );
}

interface GroupProps {
  title: string;
  comparison: Comparison;
  metrics: ComparisonMetric[];
  primary: string | null;
}

function Group({ title, comparison, metrics, primary }: GroupProps) {
  const rows = metrics.flatMap((metric): Row[] => [
    { metric, difference: metric.difference, isIntentionToTreat: false },
    ...(metric.intention_to_treat
      ? [{ metric, difference: metric.intention_to_treat, isIntentionToTreat: true }]
      : []),
  ]);
  const bound = axisBound(rows.map(({ metric, difference }) => placeOf(metric, difference)));
  const kind = metrics[0]?.kind ?? "score";
  const inPoints = isInPoints(kind);
  const columns: Column<Row>[] = [
    {
      header: title,
      cell: (row) => <Name row={row} isPrimary={row.metric.name === primary} />,
    },
    {
      header: "A",
      number: true,
      cell: (row) => (row.isIntentionToTreat ? "" : <Mean metric={row.metric} side="a" />),
    },
    {
      header: "B",
      number: true,
      cell: (row) => (row.isIntentionToTreat ? "" : <Mean metric={row.metric} side="b" />),
    },
    {
      header: inPoints ? "Difference, points" : "Difference",
      number: true,
      cell: ({ metric, difference }) => (
        <>
          <strong>{formatDifference(metric.kind, difference.estimate)}</strong>
          <Interval ci={difference.ci} format={(value) => formatDifference(metric.kind, value)} />
        </>
      ),
    },
    {
      header: inPoints ? `On an axis of ±${bound} points` : `On an axis of ±${formatCount(bound)} % of A`,
      ownLine: true,
      cell: ({ metric, difference, isIntentionToTreat }) => (
        <IntervalBar
          place={placeOf(metric, difference)}
          bound={bound}
          effect={isIntentionToTreat ? "inconclusive" : effectOf(metric.verdict)}
          label={differenceText(metric, difference)}
        />
      ),
    },
    {
      header: "Verdict",
      cell: ({ metric, difference, isIntentionToTreat }) =>
        isIntentionToTreat || difference.estimate === null ? (
          <span className={classes.dim}>{isIntentionToTreat ? "no verdict" : "not compared"}</span>
        ) : (
          <Verdict verdict={metric.verdict} />
        ),
    },
    {
      header: "p, adjusted",
      number: true,
      title: ({ difference: { p, test } }) =>
        test === null || p === null
          ? undefined
          : `${testName(test)}: p = ${formatP(p)} before the adjustment`,
      cell: ({ difference: { p, p_adjusted: adjusted } }) => (
        <>
          {formatP(p)}
          <span className={classes.interval}>{formatP(adjusted)}</span>
        </>
      ),
    },
    {
      header: "Items",
      number: true,
      title: ({ difference }) =>
        `${formatCountOf(difference.n, "item has", "items have")} a value on both sides`,
      cell: ({ difference }) => formatCount(difference.n),
    },
    {
      header: "Detectable",
      number: true,
      cell: ({ metric, difference: { minimum_detectable: least } }) =>
        least === null ? NONE : formatValue(metric.kind, least).replace("\u00a0%", ""),
    },
    {
      header: "By outcome",
      cell: ({ metric, isIntentionToTreat }) =>
        !isIntentionToTreat && <Outcomes comparison={comparison} metric={metric} />,
    },
  ];
  return (
    <DataTable
      label={title}
      stacks
      columns={columns}
      rows={rows}
      rowKey={({ metric, isIntentionToTreat }) => `${metric.name} ${isIntentionToTreat}`}
      rowProps={({ metric, isIntentionToTreat }) => ({
        "data-testid": isIntentionToTreat ? "intention-to-treat" : "metric-row",
        "data-metric": metric.name,
        "data-verdict": metric.verdict,
      })}
    />
  );
}

function Name({
  row: { metric, difference, isIntentionToTreat },
  isPrimary,
}: {
  row: Row;
  isPrimary: boolean;
}) {
  if (isIntentionToTreat) {
    return (
      <>
        <bdi>{metricLabel(metric)}</bdi>, failures as 0
        <span className={classes.hint}>
          Every output that failed counts as 0 (intention to treat). Above, items without an output are left
          out.
        </span>
        <Flags flags={difference.flags} />
      </>
    );
  }
  return (
    <>
      <bdi>{metricLabel(metric)}</bdi>
      {isPrimary && <span className={classes.tag}>primary</span>}
      <span className={classes.hint}>{metric.better} is better</span>
      <Flags flags={difference.flags} />
      {metric.groups !== null && (
        <span className={classes.hint}>
          The interval and p are of {formatCountOf(metric.groups, "group")} of items.
        </span>
      )}
      {metric.judged && (
        <span className={classes.hint}>
          Corrected by labels of {formatCountOf(metric.labels_drawn, "item")}; A, B and outcomes are by judges
          alone, as is {formatDifference(metric.kind, metric.judged.estimate)}
          <Interval ci={metric.judged.ci} format={(value) => formatDifference(metric.kind, value)} />
        </span>
      )}
      {metric.labels_flag !== null && (
        <span className={classes.hint} data-testid="labels-why">
          {labelsWhy(metric)}{" "}
          {metric.labels_needed !== null && <Link to={LABELS_AT}>Label in random order</Link>}
        </span>
      )}
      {metric.variance && varianceOf(metric.variance) > 0 && (
        <span className={classes.hint}>
          Of the variance of one repeat, {formatPercent(metric.variance.item / varianceOf(metric.variance))}{" "}
          is between items, the rest between repeats.
        </span>
      )}
    </>
  );
}

/** The variance of the difference of one repeat of each side. */
function varianceOf({ item, repeat_a, repeat_b }: NonNullable<ComparisonMetric["variance"]>): number {
  return item + repeat_a + repeat_b;
}

function Flags({ flags }: { flags: string[] }) {
  return flags.map((flag) => (
    <span key={flag} className={classes.flag} data-testid="flag">
      {flagText(flag)}
    </span>
  ));
}

function Mean({ metric, side }: { metric: ComparisonMetric; side: "a" | "b" }) {
  const { mean, ci } = metric[side];
  return (
    <>
      {formatValue(metric.kind, mean)}
      <Interval ci={ci} format={(value) => formatValue(metric.kind, value)} />
    </>
  );
}

/** How many items improved, regressed or stayed, each with a link to them. */
function Outcomes({ comparison, metric }: { comparison: Comparison; metric: ComparisonMetric }) {
  const isDefault = metric.name === comparison.primary_metric;
  const counts = [
    ["improved", "↑", metric.improved],
    ["regressed", "↓", metric.regressed],
    ["unchanged", "=", metric.unchanged],
  ] as const;
  return (
    <span className={classes.outcomes}>
      {counts.map(([outcome, sign, count]) => {
        const query = new URLSearchParams({
          tab: "items",
          outcome,
          ...(!isDefault && { metric: metric.name }),
        });
        const text = `${formatCount(count)} ${outcome}`;
        return count === 0 ? (
          <span key={outcome} title={text}>
            <span aria-hidden="true">{sign} </span>0<span className={classes.hidden}> {outcome}</span>
          </span>
        ) : (
          <Link key={outcome} to={`?${query}`} title={text}>
            <span aria-hidden="true">{sign} </span>
            {formatCount(count)}
            <span className={classes.hidden}>
              {" "}
              {outcome} on {metricLabel(metric)}
            </span>
          </Link>
        );
      })}
    </span>
  );
}
