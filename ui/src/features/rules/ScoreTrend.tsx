import { Group, Select, Switch } from "@mantine/core";
import { lazy, Suspense, useMemo, useState } from "react";
import type { EvalRule } from "@/api/types";
import { type ChartSeries, WHOLE_STEPS } from "@/components/chart/series";
import { DataTable } from "@/components/DataTable";
import classes from "@/components/evaluation/Evaluation.module.css";
import { formatValue, intervalText } from "@/components/evaluation/measures";
import { formatCount, formatCountOf, formatPercent, NONE } from "@/components/format";
import { dayText } from "./rules";
import {
  categorySeries,
  isCategory,
  meanSeries,
  scoreNames,
  type TrendPoint,
  trendLabels,
  trendPoints,
  trendVersions,
  versionsText,
} from "./trend";

const TimeChart = lazy(() => import("@/components/chart/TimeChart"));

const HEIGHT = 190;

interface Props {
  rule: EvalRule;
  now: number;
}

/** A score of a rule from day to day. */
export function ScoreTrend({ rule, now }: Props) {
  const [wanted, setWanted] = useState<string | null>(null);
  const [asTable, setAsTable] = useState(false);
  const names = useMemo(() => scoreNames(rule), [rule]);
  const name = wanted !== null && names.includes(wanted) ? wanted : names[0];
  // A day, not a moment: the chart is made anew when its points change.
  const today = Math.floor(now / 86_400_000) * 86_400_000;
  const points = useMemo(() => trendPoints(rule.days, name ?? "", today), [rule.days, name, today]);
  const isOfCategories = isCategory(points);
  const series = useMemo(
    () => (isOfCategories ? categorySeries(points) : meanSeries(points, name ?? "")),
    [points, name, isOfCategories],
  );
  if (name === undefined)
    return (
      <section className={classes.trend} aria-label="Scores" data-testid="score-trend">
        <h2 className={classes.heading}>Scores</h2>
        <p className={classes.lead}>No scores yet.</p>
      </section>
    );
  return (
    <section className={classes.trend} aria-label={`Scores: ${name}`} data-testid="score-trend">
      <Group gap="sm" justify="space-between" mb={4}>
        <h2 className={classes.heading}>
          <bdi>{name}</bdi> by day
        </h2>
        <Group gap="sm">
          {names.length > 1 && (
            <Select
              size="xs"
              w={170}
              aria-label="Score"
              data={names}
              value={name}
              onChange={setWanted}
              allowDeselect={false}
            />
          )}
          <Switch
            size="xs"
            label="Table"
            checked={asTable}
            onChange={(event) => setAsTable(event.currentTarget.checked)}
          />
        </Group>
      </Group>
      {asTable ? (
        <ScoreTable points={points} />
      ) : (
        <Chart name={name} points={points} series={series} isOfCategories={isOfCategories} />
      )}
      <p className={classes.note}>
        {isOfCategories
          ? "Runs by category and by the day (UTC) of sampling."
          : "Means out of 100 with 95 % intervals, by the day (UTC) of sampling."}{" "}
        Each day has runs of its own, so that days can be compared by their means. Runs that belong together
        by <bdi>{rule.group_by}</bdi> count as one unit of the interval. Runs without this score are left out.{" "}
        {versionsText(points)}
      </p>
    </section>
  );
}

interface ChartProps {
  name: string;
  points: readonly TrendPoint[];
  series: ChartSeries[];
  isOfCategories: boolean;
}

function Chart({ name, points, series, isOfCategories }: ChartProps) {
  const times = useMemo(() => points.map((_, index) => index), [points]);
  const labels = useMemo(() => trendLabels(points), [points]);
  const hasLegend = isOfCategories || trendVersions(points).length > 1;
  return (
    <>
      <div style={{ height: HEIGHT }}>
        <Suspense>
          <TimeChart
            label={`${name} on ${points.length === 1 ? "1 day" : `${points.length} days`}. Turn on “Table” for the numbers.`}
            times={times}
            bucketSeconds={0}
            points={labels}
            series={series}
            shape={isOfCategories ? "bars" : "lines"}
            height={HEIGHT}
            format={isOfCategories ? formatCount : (value) => value.toFixed(0)}
            steps={isOfCategories ? WHOLE_STEPS : undefined}
            isSparse={!isOfCategories}
          />
        </Suspense>
      </div>
      {hasLegend && (
        <div className={classes.legend} data-testid="legend">
          {series.map(({ label, color }) => (
            <span key={label}>
              <span className={classes.swatch} style={{ background: `var(${color})` }} /> <bdi>{label}</bdi>
            </span>
          ))}
        </div>
      )}
    </>
  );
}

function ScoreTable({ points }: { points: readonly TrendPoint[] }) {
  const rows = points.flatMap(({ day, version, score }) => (score ? [{ day, version, score }] : []));
  const isOfCategories = isCategory(points);
  return (
    <DataTable
      label="Scores, numbers"
      maxHeight={HEIGHT}
      rows={rows.reverse()}
      rowKey={({ day, version }) => `${day} ${version}`}
      columns={[
        { header: "Day (UTC)", title: ({ day }) => day, cell: ({ day }) => dayText(day) },
        { header: "Version", number: true, cell: ({ version }) => String(version) },
        isOfCategories
          ? {
              header: "Categories",
              cell: ({ score: { labels } }) => (
                <bdi>
                  {Object.entries(labels)
                    .sort(([, a], [, b]) => b - a)
                    .map(([label, runs]) => `${label} ${formatCount(runs)}`)
                    .join(", ")}
                </bdi>
              ),
            }
          : {
              header: "Mean, 95 % interval",
              number: true,
              cell: ({ score: { mean, ci } }) => {
                const interval = intervalText(ci, (value) => formatValue("score", value));
                return formatValue("score", mean) + (interval === null ? "" : ` (${interval})`);
              },
            },
        {
          header: "Pass rate",
          number: true,
          cell: ({ score: { pass_rate: rate } }) => (rate === null ? NONE : formatPercent(rate)),
        },
        {
          header: "Runs",
          number: true,
          cell: ({ score: { n, groups } }) =>
            groups === null ? formatCount(n) : `${formatCount(n)} in ${formatCountOf(groups, "group")}`,
        },
      ]}
    />
  );
}
