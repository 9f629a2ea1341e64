import { Button } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { Link } from "react-router";
import { hasEnded, useComparisons } from "@/api/comparisons";
import type { Comparison, ComparisonSelection, EvaluationStatus } from "@/api/types";
import { DataTable } from "@/components/DataTable";
import { EmptyHint } from "@/components/EmptyHint";
import { datasetColumn, nameColumn, startedColumn } from "@/components/evaluation/columns";
import { DatasetFilter } from "@/components/evaluation/DatasetFilter";
import classes from "@/components/evaluation/Evaluation.module.css";
import { EvaluationStatusMark, Verdict } from "@/components/evaluation/Marks";
import {
  axisBound,
  differenceText,
  effectOf,
  formatDifference,
  placeOf,
} from "@/components/evaluation/measures";
import { costText, STATUSES, STOP_REASONS, shortCost } from "@/components/evaluation/progress";
import { RunningCell } from "@/components/evaluation/Running";
import { StatusSelect } from "@/components/evaluation/StatusSelect";
import { NONE } from "@/components/format";
import { ListPage } from "@/components/ListPage";
import { PageHint } from "@/components/PageMessage";
import { useAddress } from "@/components/useAddress";
import { useNow } from "@/components/useNow";
import { allows, useProject, useProjectId } from "@/components/useProject";
import { IntervalBar } from "./IntervalBar";
import { primaryOf } from "./primaryMetric";

/** The comparisons of a project, those that run among them. */
export function ComparisonsPage() {
  const projectId = useProjectId();
  const mayWrite = allows(useProject(), "evals:write");
  const { params, set, clear } = useAddress();
  const datasetId = params.get("dataset") ?? "";
  const status = readStatus(params.get("status"));
  const selection: ComparisonSelection = {
    dataset_id: datasetId || undefined,
    status: status ?? undefined,
  };
  const query = useComparisons(projectId, selection);
  const now = useNow(10_000);
  const start = mayWrite && (
    <Button
      component={Link}
      to={`new${datasetId ? `?dataset=${datasetId}` : ""}`}
      leftSection={<IconPlus size={14} />}
    >
      New comparison
    </Button>
  );
  return (
    <ListPage<Comparison>
      title="Comparisons"
      context="Two configurations over the same items of a dataset: which one is better, and how sure that is."
      tools={
        <search className={classes.filters}>
          <DatasetFilter
            projectId={projectId}
            value={datasetId}
            onChange={(value) => set({ dataset: value })}
          />
          <StatusSelect
            statuses={STATUSES}
            value={status}
            w={130}
            onChange={(value) => set({ status: value })}
          />
        </search>
      }
      actions={start}
      query={query}
      what="comparisons"
      rowHeight={40}
      emptyTitle="No comparisons yet."
      emptyHint={<Empty start={start} />}
      onClearFilters={datasetId === "" && status === null ? undefined : clear}
    >
      {(rows) => <Rows rows={rows} projectId={projectId} now={now} />}
    </ListPage>
  );
}

function readStatus(text: string | null): EvaluationStatus | null {
  return text !== null && Object.hasOwn(STATUSES, text) ? (text as EvaluationStatus) : null;
}

function Empty({ start }: { start: React.ReactNode }) {
  return (
    <EmptyHint
      purpose="A comparison runs two configurations, such as two prompt versions or two models, on every item of a dataset and shows which one scores better, and how sure that is."
      action={
        start || (
          <PageHint>
            Comparisons cost money, so they need the scope <code>evals:write</code>. Ask an admin of the
            workspace.
          </PageHint>
        )
      }
    >
      {start && (
        <PageHint>
          You need a dataset and a connection to a provider. You can also start from two versions of a prompt,
          or from two columns of the playground.
        </PageHint>
      )}
    </EmptyHint>
  );
}

function Rows({ rows, projectId, now }: { rows: Comparison[]; projectId: string; now: number }) {
  const bound = axisBound(
    rows.map((row) => {
      const metric = primaryOf(row);
      return metric ? placeOf(metric, metric.difference) : null;
    }),
  );
  return (
    <DataTable
      label="Comparisons"
      stacks
      rows={rows}
      rowKey={({ id }) => id}
      rowProps={({ id, status }) => ({
        "data-testid": "comparison-row",
        "data-comparison": id,
        "data-status": status,
      })}
      columns={[
        nameColumn(`/p/${projectId}/comparisons`),
        datasetColumn(),
        { header: "Status", cell: (row) => <Status row={row} /> },
        {
          header: "Result",
          ownLine: true,
          title: ({ summary }) => summary?.sentence,
          cell: (row) => <Result row={row} bound={bound} />,
        },
        {
          header: "Cost",
          number: true,
          title: ({ cost }) => costText(cost),
          cell: ({ cost }) => shortCost(cost),
        },
        startedColumn(now),
      ]}
    />
  );
}

function Status({ row }: { row: Comparison }) {
  if (hasEnded(row)) {
    return (
      <>
        <EvaluationStatusMark status={row.status} />
        {row.stop_reason !== null && (
          <span className={classes.dim} title={STOP_REASONS[row.stop_reason]}>
            {" "}
            {row.stop_reason === "decided" ? "stopped early" : "stopped at its limit"}
          </span>
        )}
      </>
    );
  }
  return <RunningCell evaluation={row} name={row.name} />;
}

function Result({ row, bound }: { row: Comparison; bound: number }) {
  const metric = primaryOf(row);
  if (row.error) return <span className={classes.dim}>{row.error.detail}</span>;
  if (!metric) return <span className={classes.dim}>{row.summary ? "No score decides" : NONE}</span>;
  return (
    <div className={classes.result}>
      <IntervalBar
        place={placeOf(metric, metric.difference)}
        bound={bound}
        effect={effectOf(metric.verdict)}
        label={differenceText(metric, metric.difference)}
      />
      <span className={classes.resultText}>
        <Verdict verdict={metric.verdict} />{" "}
        <span className={classes.difference}>
          {formatDifference(metric.kind, metric.difference.estimate)} on <bdi>{metric.name}</bdi>
        </span>
      </span>
    </div>
  );
}
