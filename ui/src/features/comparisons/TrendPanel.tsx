import { Group, Select, Skeleton, Switch } from "@mantine/core";
import { useMemo, useState } from "react";
import { Link } from "react-router";
import { useComparisonTrend } from "@/api/comparisons";
import type { Comparison } from "@/api/types";
import { DataTable } from "@/components/DataTable";
import classes from "@/components/evaluation/Evaluation.module.css";
import { formatDifference } from "@/components/evaluation/measures";
import { meanText, TrendChart } from "@/components/evaluation/TrendChart";
import { datasetLabel } from "@/components/evaluation/trend";
import { formatTime } from "@/components/format";
import { QueryState } from "@/components/QueryState";
import { leftOutText, type TrendPoint, trendLabels, trendMetrics, trendOf, trendSeries } from "./trends";

const HEIGHT = 170;

interface Props {
  projectId: string;
  datasetId: string;
}

/** The primary metric of both sides over the comparisons of a dataset. */
export function TrendPanel({ projectId, datasetId }: Props) {
  const query = useComparisonTrend(projectId, datasetId);
  return (
    <QueryState query={query} skeleton={<Skeleton h={HEIGHT} />}>
      {({ data, has_more }) => <View comparisons={data} hasMore={has_more} projectId={projectId} />}
    </QueryState>
  );
}

interface ViewProps {
  comparisons: Comparison[];
  hasMore: boolean;
  projectId: string;
}

function View({ comparisons, hasMore, projectId }: ViewProps) {
  const [wanted, setWanted] = useState<string>();
  const [asTable, setAsTable] = useState(false);
  const trend = useMemo(() => trendOf(comparisons, wanted), [comparisons, wanted]);
  const series = useMemo(() => trendSeries(trend.points), [trend]);
  const labels = useMemo(() => trendLabels(trend.points), [trend]);
  const metrics = trendMetrics(comparisons);
  if (trend.metric === null || trend.points.length < 2) return null;
  return (
    <section className={classes.trend} aria-label={`Trend of ${trend.metric}`} data-testid="trend">
      <Group gap="sm" justify="space-between" mb={4}>
        <h2 className={classes.heading}>
          <bdi>{trend.metric}</bdi> over time
        </h2>
        <Group gap="sm">
          <span className={classes.legend} aria-hidden="true">
            {series.map(({ label, color }) => (
              <span key={label}>
                <span className={classes.swatch} style={{ background: `var(${color})` }} /> {label}
              </span>
            ))}
          </span>
          {metrics.length > 1 && (
            <Select
              size="xs"
              w={150}
              aria-label="Metric of the trend"
              data={metrics}
              value={trend.metric}
              onChange={(value) => setWanted(value ?? undefined)}
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
        <TrendTable points={trend.points} projectId={projectId} />
      ) : (
        <TrendChart
          label={`Means of ${trend.metric} for A and B in ${trend.points.length} comparisons. Turn on “Table” for the numbers.`}
          points={labels}
          series={series}
          height={HEIGHT}
          format={(value) => value.toFixed(0)}
        />
      )}
      <p className={classes.note}>
        Means out of 100 with 95 % intervals. {leftOutText(trend, hasMore)}
        {trend.revisions.length > 1 &&
          ` The items differ between ${trend.revisions.join(", ")}, so compare with care.`}{" "}
        Where items return, the points are no independent samples: intervals that overlap say nothing of a
        change. Within a point, A and B are compared by their paired difference.
      </p>
    </section>
  );
}

function TrendTable({ points, projectId }: { points: TrendPoint[]; projectId: string }) {
  return (
    <DataTable
      label="Trend, numbers"
      maxHeight={HEIGHT}
      rows={points.toReversed()}
      rowKey={({ comparison }) => comparison.id}
      columns={[
        {
          header: "Comparison",
          cell: ({ comparison }) => (
            <Link to={`/p/${projectId}/comparisons/${comparison.id}`}>{comparison.name}</Link>
          ),
        },
        { header: "Dataset", cell: ({ comparison }) => datasetLabel(comparison) },
        { header: "A", number: true, cell: ({ metric }) => meanText(metric.a) },
        { header: "B", number: true, cell: ({ metric }) => meanText(metric.b) },
        {
          header: "Difference",
          number: true,
          cell: ({ metric }) => formatDifference("score", metric.difference.estimate),
        },
        {
          header: "Finished",
          number: true,
          cell: ({ comparison }) => formatTime(comparison.finished_at),
        },
      ]}
    />
  );
}
