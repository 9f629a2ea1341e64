import { Button } from "@mantine/core";
import { Link, useSearchParams } from "react-router";
import { isBatchOpen, useReplayBatches } from "@/api/replayBatches";
import type { ReplayBatch } from "@/api/types";
import { DataTable } from "@/components/DataTable";
import { EmptyHint } from "@/components/EmptyHint";
import { RowLink, startedColumn } from "@/components/evaluation/columns";
import shared from "@/components/evaluation/Evaluation.module.css";
import { EvaluationStatusMark } from "@/components/evaluation/Marks";
import { STATUSES, shortCost } from "@/components/evaluation/progress";
import { StatusSelect } from "@/components/evaluation/StatusSelect";
import { formatCount, NONE } from "@/components/format";
import { ListPage } from "@/components/ListPage";
import { PageHint } from "@/components/PageMessage";
import { useNow } from "@/components/useNow";
import { useProjectId } from "@/components/useProject";
import { BatchVerdictMark } from "./BatchMarks";
import { ListChoice } from "./ListChoice";
import { ProgressCell } from "./ProgressCell";
import classes from "./Replays.module.css";
import { readSelection, replayProblem } from "./words";

/** The batches of a project: many runs replayed with the same edit. */
export function BatchesPage() {
  const projectId = useProjectId();
  const [params, setParams] = useSearchParams();
  const { status } = readSelection(params);
  const query = useReplayBatches(projectId, { status });
  const now = useNow(10_000);
  return (
    <ListPage<ReplayBatch>
      title="Replays"
      context="One edit over many runs: what it repairs, and what it breaks."
      tools={
        <search className={shared.filters}>
          <ListChoice list="batches" />
          <StatusSelect
            statuses={STATUSES}
            value={status}
            w={130}
            onChange={(value) => setParams({ list: "batches", ...(value && { status: value }) })}
          />
        </search>
      }
      query={query}
      what="batches"
      rowHeight={48}
      emptyTitle="No batches yet."
      emptyHint={<Empty projectId={projectId} />}
      onClearFilters={status === undefined ? undefined : () => setParams({ list: "batches" })}
    >
      {(rows) => <Rows rows={rows} projectId={projectId} now={now} />}
    </ListPage>
  );
}

function Empty({ projectId }: { projectId: string }) {
  return (
    <EmptyHint
      purpose="A batch replays many failed runs with the same edit, and good runs with it, to show whether the edit repairs the failure and what it breaks. Tools aren't executed."
      action={
        <Button component={Link} to={`/p/${projectId}/failures`}>
          Open the failures
        </Button>
      }
    >
      <PageHint>
        Open a failure and choose <b>Test an edit</b>, or select runs in the list of runs.
      </PageHint>
    </EmptyHint>
  );
}

function Rows({ rows, projectId, now }: { rows: ReplayBatch[]; projectId: string; now: number }) {
  return (
    <DataTable
      label="Batches"
      stacks
      rows={rows}
      rowKey={({ id }) => id}
      rowProps={({ id, status }) => ({
        "data-testid": "batch-row",
        "data-batch": id,
        "data-status": status,
      })}
      columns={[
        {
          header: "Batch",
          title: ({ name }) => name,
          cell: ({ id, name, edits_text: texts }) => (
            <>
              <RowLink to={`/p/${projectId}/replay-batches/${id}`} name={name} />
              <div className={classes.editsText}>
                <bdi>{texts.join("; ")}</bdi>
              </div>
            </>
          ),
        },
        { header: "Status", cell: (row) => <Status row={row} /> },
        {
          header: "Result",
          ownLine: true,
          title: ({ result }) => result?.sentence,
          cell: (row) => <Result row={row} />,
        },
        {
          header: "Runs",
          number: true,
          title: ({ good_runs: good }) => `${formatCount(good)} of them good`,
          cell: ({ chosen_runs: chosen, good_runs: good }) => formatCount(chosen + good),
        },
        { header: "Cost", number: true, cell: ({ cost }) => shortCost(cost) },
        startedColumn(now),
      ]}
    />
  );
}

function Status({ row }: { row: ReplayBatch }) {
  if (!isBatchOpen(row)) return <EvaluationStatusMark status={row.status} />;
  return <ProgressCell of={row} />;
}

function Result({ row }: { row: ReplayBatch }) {
  const { result } = row;
  if (!result) return <span className={shared.dim}>{replayProblem(row)?.title ?? NONE}</span>;
  return (
    <>
      <BatchVerdictMark verdict={result.chosen.verdict} />
      <div className={classes.editsText}>{result.sentence}</div>
    </>
  );
}
