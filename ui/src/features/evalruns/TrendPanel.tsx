import { Group, Select, Skeleton, Switch } from "@mantine/core";
import { useMemo, useState } from "react";
import { Link } from "react-router";
import { useEvalRunChanges, useEvalRunTrend } from "@/api/evalRunJobs";
import type { EvalRun, EvalRunChange } from "@/api/types";
import { DataTable } from "@/components/DataTable";
import classes from "@/components/evaluation/Evaluation.module.css";
import { formatTime } from "@/components/format";
import { QueryState } from "@/components/QueryState";
import { meanText, TrendChart } from "./TrendChart";
import {
  changeText,
  datasetLabel,
  judgeChanges,
  leftOutText,
  scoreSeries,
  type TrendPoint,
  trendLabels,
  trendMetrics,
  trendNames,
  trendOf,
} from "./trends";

const HEIGHT = 170;

interface Props {
  projectId: string;
  datasetId: string;
}

/** A score over the eval-runs of a dataset. */
export function TrendPanel({ projectId, datasetId }: Props) {
  const query = useEvalRunTrend(projectId, datasetId);
  return (
    <QueryState query={query} skeleton={<Skeleton h={HEIGHT} />}>
      {({ data, has_more }) => <View runs={data} hasMore={has_more} projectId={projectId} />}
    </QueryState>
  );
}

interface ViewProps {
  runs: EvalRun[];
  hasMore: boolean;
  projectId: string;
}

function View({ runs, hasMore, projectId }: ViewProps) {
  const [wanted, setWanted] = useState<{ name?: string; metric?: string }>({});
  const [asTable, setAsTable] = useState(false);
  const trend = useMemo(() => trendOf(runs, wanted), [runs, wanted]);
  const { points, name, metric } = trend;
  const score = useMemo(() => scoreSeries(points, metric ?? ""), [points, metric]);
  const labels = useMemo(() => trendLabels(points), [points]);
  const newest = points.at(-1)?.run.id;
  const compared = useEvalRunChanges(points.length > 1 ? newest : undefined, metric ?? "");
  const changed = useMemo(
    () =>
      new Map(
        compared.data?.points.flatMap(({ eval_run_id: id, change }) =>
          change ? [[id, change] as const] : [],
        ),
      ),
    [compared.data],
  );
  const last = newest === undefined ? undefined : changed.get(newest);
  const names = trendNames(runs);
  const metrics = trendMetrics(runs, name);
  if (name === null || metric === null || (points.length < 2 && names.length < 2)) return null;
  const changes = judgeChanges(points);
  return (
    <section className={classes.trend} aria-label={`Trend of ${metric}`} data-testid="trend">
      <Group gap="sm" justify="space-between" mb={4}>
        <h2 className={classes.heading}>
          {metric} of {name} over time
        </h2>
        <Group gap="sm">
          {names.length > 1 && (
            <Select
              size="xs"
              w={170}
              aria-label="Eval-runs of the trend"
              data={names}
              value={name}
              onChange={(value) => setWanted({ name: value ?? undefined })}
              allowDeselect={false}
            />
          )}
          {metrics.length > 1 && (
            <Select
              size="xs"
              w={150}
              aria-label="Metric of the trend"
              data={metrics}
              value={metric}
              onChange={(value) => setWanted({ name, metric: value ?? undefined })}
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
        <TrendTable points={points} changed={changed} projectId={projectId} />
      ) : (
        <TrendChart
          label={`Means of ${metric} in ${points.length} eval-runs. Turn on “Table” for the numbers.`}
          points={labels}
          series={score}
          height={HEIGHT}
          format={(value) => value.toFixed(0)}
        />
      )}
      <p className={classes.note}>
        Means out of 100 with 95 % intervals. {leftOutText(trend, hasMore)}
        {trend.revisions.length > 1 &&
          ` The items differ between ${trend.revisions.join(", ")}, so compare with care.`}
        {changes.length > 0 &&
          ` Judges changed ${changes.length === 1 ? "once" : `${changes.length} times`}, last on ${formatTime(changes.at(-1)?.run.created_at)}: scores before and after aren't comparable.`}
      </p>
      {points.length > 1 && (
        <p className={classes.note} data-testid="trend-change">
          Where items return, the points are no independent samples: the paired difference tells whether a
          score changed, and not whether intervals overlap.{" "}
          {last && <strong>The newest eval-run: {last.sentence}</strong>}
          {compared.error && " The paired differences can't be read now."}
        </p>
      )}
    </section>
  );
}

interface TableProps {
  points: readonly TrendPoint[];
  /** The change to the eval-run before, by the id of the eval-run. */
  changed: ReadonlyMap<string, EvalRunChange>;
  projectId: string;
}

function TrendTable({ points, changed, projectId }: TableProps) {
  return (
    <DataTable
      label="Trend, numbers"
      maxHeight={HEIGHT}
      rows={points.toReversed()}
      rowKey={({ run }) => run.id}
      columns={[
        {
          header: "Eval-run",
          cell: ({ run }) => (
            <Link to={`/p/${projectId}/eval-runs/${run.id}`}>{run.branch ?? formatTime(run.created_at)}</Link>
          ),
        },
        { header: "Dataset", cell: ({ run }) => datasetLabel(run) },
        {
          header: "Mean",
          number: true,
          cell: ({ metric }) => meanText(metric),
        },
        {
          header: "Change on the same items",
          number: true,
          title: ({ run }) => changed.get(run.id)?.sentence,
          cell: ({ run }) => changeText(changed.get(run.id)),
        },
        { header: "Finished", number: true, cell: ({ run }) => formatTime(run.finished_at) },
      ]}
    />
  );
}
