import { VisuallyHidden } from "@mantine/core";
import { Link } from "react-router";
import type { Comparison, ComparisonMetric } from "@/api/types";
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
import { formatCount, formatCountOf } from "@/components/format";
import { IntervalBar } from "./IntervalBar";
import { LABELS_AT } from "./itemsPlace";

interface Props {
  comparison: Comparison;
  summary: NonNullable<Comparison["summary"]>;
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
        outputs as 0.
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
  const bound = axisBound(metrics.map((metric) => placeOf(metric, metric.difference)));
  const kind = metrics[0]?.kind ?? "score";
  const inPoints = isInPoints(kind);
  const columns: Column<ComparisonMetric>[] = [
    {
      header: title,
      cell: (metric) => <Name metric={metric} isPrimary={metric.name === primary} />,
    },
    {
      header: "A",
      number: true,
      cell: (metric) => <Mean metric={metric} side="a" />,
    },
    {
      header: "B",
      number: true,
      cell: (metric) => <Mean metric={metric} side="b" />,
    },
    {
      header: inPoints ? "Difference, points" : "Difference",
      number: true,
      cell: ({ kind, difference }) => (
        <>
          <strong>{formatDifference(kind, difference.estimate)}</strong>
          <Interval ci={difference.ci} format={(value) => formatDifference(kind, value)} />
        </>
      ),
    },
    {
      header: inPoints ? `On an axis of ±${bound} points` : `On an axis of ±${formatCount(bound)} % of A`,
      ownLine: true,
      cell: (metric) => (
        <IntervalBar
          place={placeOf(metric, metric.difference)}
          bound={bound}
          effect={effectOf(metric.verdict)}
          label={differenceText(metric, metric.difference)}
        />
      ),
    },
    {
      header: "Verdict",
      cell: ({ verdict, difference }) =>
        difference.estimate === null ? (
          <span className={classes.dim}>not compared</span>
        ) : (
          <Verdict verdict={verdict} />
        ),
    },
    {
      header: "p, adjusted",
      number: true,
      title: ({ difference: { test } }) => (test === null ? undefined : testName(test)),
      cell: ({ difference }) => formatP(difference.p_adjusted),
    },
    {
      header: "Items",
      number: true,
      title: ({ difference }) =>
        `${formatCountOf(difference.n, "item has", "items have")} a value on both sides`,
      cell: ({ difference }) => formatCount(difference.n),
    },
    {
      header: "By outcome",
      cell: (metric) => <Outcomes comparison={comparison} metric={metric} />,
    },
  ];
  return (
    <DataTable
      label={title}
      stacks
      columns={columns}
      rows={metrics}
      rowKey={({ name }) => name}
      rowProps={({ name, verdict }) => ({
        "data-testid": "metric-row",
        "data-metric": name,
        "data-verdict": verdict,
      })}
    />
  );
}

function Name({ metric, isPrimary }: { metric: ComparisonMetric; isPrimary: boolean }) {
  return (
    <>
      <bdi>{metricLabel(metric)}</bdi>
      {isPrimary && <span className={classes.tag}>primary</span>}
      <span className={classes.hint}>{metric.better} is better</span>
      <Flags flags={metric.difference.flags} />
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
    </>
  );
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
            <span aria-hidden="true">{sign} </span>0<VisuallyHidden> {outcome}</VisuallyHidden>
          </span>
        ) : (
          <Link key={outcome} to={`?${query}`} title={text}>
            <span aria-hidden="true">{sign} </span>
            {formatCount(count)}
            <VisuallyHidden>
              {" "}
              {outcome} on {metricLabel(metric)}
            </VisuallyHidden>
          </Link>
        );
      })}
    </span>
  );
}
