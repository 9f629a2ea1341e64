import { Button, CloseButton } from "@mantine/core";
import { Link, useSearchParams } from "react-router";
import { isReplayFinal, useReplays } from "@/api/replays";
import { useRun } from "@/api/runs";
import type { ReplaySummary } from "@/api/types";
import { DataTable } from "@/components/DataTable";
import { EmptyHint } from "@/components/EmptyHint";
import { RowLink, startedColumn } from "@/components/evaluation/columns";
import shared from "@/components/evaluation/Evaluation.module.css";
import { EvaluationStatusMark } from "@/components/evaluation/Marks";
import { STATUSES, shortCost } from "@/components/evaluation/progress";
import { StatusSelect } from "@/components/evaluation/StatusSelect";
import { NONE } from "@/components/format";
import { ListPage } from "@/components/ListPage";
import { PageHint } from "@/components/PageMessage";
import { ReplayVerdictMark } from "@/components/ReplayVerdictMark";
import { useAddress } from "@/components/useAddress";
import { useNow } from "@/components/useNow";
import { useProjectId } from "@/components/useProject";
import { BatchesPage } from "./BatchesPage";
import { ListChoice } from "./ListChoice";
import { ProgressCell } from "./ProgressCell";
import classes from "./Replays.module.css";
import { editsText, readSelection, replayProblem } from "./words";

/** The replays of a project, or its batches of replays. */
export function ReplaysPage() {
  const [params] = useSearchParams();
  return params.get("list") === "batches" ? <BatchesPage /> : <SingleReplays />;
}

/** The replays of a project, those that run among them. */
function SingleReplays() {
  const projectId = useProjectId();
  const { params, set, clear } = useAddress();
  const selection = readSelection(params);
  const query = useReplays(projectId, selection);
  const now = useNow(10_000);
  const isFiltered = Object.values(selection).some((value) => value !== undefined);
  return (
    <ListPage<ReplaySummary>
      title="Replays"
      context="Recorded runs that ran again with an edit, and whether the edit had an effect."
      tools={
        <search className={shared.filters}>
          <ListChoice list="replays" />
          {selection.run_id !== undefined && (
            <RunFilter projectId={projectId} runId={selection.run_id} onClear={() => set({ run: null })} />
          )}
          <StatusSelect
            statuses={STATUSES}
            value={selection.status}
            w={130}
            onChange={(value) => set({ status: value })}
          />
        </search>
      }
      query={query}
      what="replays"
      rowHeight={40}
      emptyTitle="No replays yet."
      emptyHint={<Empty projectId={projectId} />}
      onClearFilters={isFiltered ? clear : undefined}
    >
      {(rows) => <Rows rows={rows} projectId={projectId} now={now} />}
    </ListPage>
  );
}

function RunFilter({ projectId, runId, onClear }: { projectId: string; runId: string; onClear: () => void }) {
  const run = useRun(projectId, runId);
  return (
    <span className={classes.chip}>
      <span>
        Run <bdi>{run.data?.name || runId}</bdi>
      </span>
      <CloseButton size="xs" aria-label="Clear the run" onClick={onClear} />
    </span>
  );
}

function Empty({ projectId }: { projectId: string }) {
  return (
    <EmptyHint
      purpose="A replay runs a recorded agent again with a change, such as another prompt, model or tool result, to show whether the change had an effect or the agent just varies. Tools aren't executed."
      action={
        <Button component={Link} to={`/p/${projectId}/runs`}>
          Choose a run
        </Button>
      }
    >
      <PageHint>
        Open a run and choose <b>Replay…</b>, or <b>Replay from here</b> at one of its steps.
      </PageHint>
    </EmptyHint>
  );
}

function Rows({ rows, projectId, now }: { rows: ReplaySummary[]; projectId: string; now: number }) {
  return (
    <DataTable
      label="Replays"
      stacks
      rows={rows}
      rowKey={({ id }) => id}
      rowProps={({ id, status }) => ({
        "data-testid": "replay-row",
        "data-replay": id,
        "data-status": status,
      })}
      columns={[
        {
          header: "Replay",
          title: ({ name }) => name,
          cell: ({ id, name, edits }) => (
            <>
              <RowLink to={`/p/${projectId}/replays/${id}`} name={name} />
              {edits.length > 0 && (
                <div className={classes.editsText}>
                  <bdi>{editsText(edits)}</bdi>
                </div>
              )}
            </>
          ),
        },
        {
          header: "Run",
          title: ({ run_name }) => run_name,
          cell: ({ run_id, run_name }) => (
            <Link to={`/p/${projectId}/runs/${run_id}`} className={shared.clip}>
              <bdi>{run_name || "unnamed"}</bdi>
            </Link>
          ),
        },
        { header: "Status", cell: (row) => <Status row={row} /> },
        {
          header: "Verdict",
          title: ({ verdict }) => verdict?.sentence,
          cell: (row) => <VerdictCell row={row} />,
        },
        { header: "Cost", number: true, cell: ({ cost }) => shortCost(cost) },
        startedColumn(now),
      ]}
    />
  );
}

function Status({ row }: { row: ReplaySummary }) {
  if (isReplayFinal(row) || (row.status !== "running" && row.status !== "queued"))
    return <EvaluationStatusMark status={row.status} />;
  return <ProgressCell of={row} />;
}

function VerdictCell({ row }: { row: ReplaySummary }) {
  if (row.verdict) return <ReplayVerdictMark verdict={row.verdict.verdict} />;
  const problem = replayProblem(row);
  return <span className={shared.dim}>{problem?.title ?? NONE}</span>;
}
