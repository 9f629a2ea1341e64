import { Button } from "@mantine/core";
import { Link, useSearchParams } from "react-router";
import { ITEMS_PAGE } from "@/api/paging";
import { useReplayBatchRuns } from "@/api/replayBatches";
import type { ReplayBatch, ReplayBatchOutcome, ReplayBatchRun } from "@/api/types";
import { DataTable } from "@/components/DataTable";
import shared from "@/components/evaluation/Evaluation.module.css";
import { ItemPages } from "@/components/evaluation/ItemPages";
import { EvaluationStatusMark } from "@/components/evaluation/Marks";
import { formatCount, formatCountOf, NONE } from "@/components/format";
import { PageMessage } from "@/components/PageMessage";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { outcomeCounts, PARTS, RUN_OUTCOMES, refusalText } from "./batches";
import classes from "./Evidence.module.css";

/** The runs of a batch by what became of them. The place is in the address. */
export function BatchRuns({ batch }: { batch: ReplayBatch }) {
  const [params, setParams] = useSearchParams();
  const given = params.get("outcome") ?? "";
  const outcome = Object.hasOwn(RUN_OUTCOMES, given) ? (given as ReplayBatchOutcome) : undefined;
  const page = Math.max(1, Math.floor(Number(params.get("page")) || 1));
  const query = useReplayBatchRuns(batch, outcome, (page - 1) * ITEMS_PAGE);
  const show = (chosen: ReplayBatchOutcome | undefined) =>
    setParams(chosen === undefined ? {} : { outcome: chosen });
  const turn = (next: number) =>
    setParams({ ...(outcome && { outcome }), ...(next > 1 && { page: String(next) }) });
  return (
    <section className={shared.block} aria-label="Runs" data-testid="batch-runs">
      <h2 className={shared.heading}>Runs</h2>
      {batch.result && (
        // biome-ignore lint/a11y/useSemanticElements: a fieldset has a border and a width of its own
        <div className={classes.chips} role="group" aria-label="What became of the runs">
          {outcomeCounts(batch.result).map(({ outcome: one, count }) => (
            <Button
              key={one}
              size="compact-sm"
              radius="xl"
              variant={one === outcome ? "filled" : "default"}
              aria-pressed={one === outcome}
              title={RUN_OUTCOMES[one].hint}
              data-outcome={one}
              onClick={() => show(one === outcome ? undefined : one)}
            >
              {RUN_OUTCOMES[one].label} {formatCount(count)}
            </Button>
          ))}
        </div>
      )}
      <QueryState query={query} skeleton={<SkeletonRows count={8} height={40} />}>
        {({ data, has_more: hasMore }) =>
          data.length === 0 ? (
            <PageMessage title={outcome ? "No runs became this." : "No runs."}>
              {outcome && (
                <Button variant="default" onClick={() => show(undefined)}>
                  Show all runs
                </Button>
              )}
            </PageMessage>
          ) : (
            <>
              <Rows rows={data} projectId={batch.project_id} />
              {(page > 1 || hasMore) && (
                <ItemPages page={page} count={data.length} hasMore={hasMore} onChange={turn} />
              )}
            </>
          )
        }
      </QueryState>
    </section>
  );
}

function Rows({ rows, projectId }: { rows: ReplayBatchRun[]; projectId: string }) {
  return (
    <DataTable<ReplayBatchRun>
      label="Runs of the batch"
      stacks
      rows={rows}
      rowKey={({ number }) => String(number)}
      rowProps={({ run_id, outcome }) => ({
        "data-testid": "batch-run",
        "data-run": run_id,
        "data-outcome": outcome ?? undefined,
      })}
      columns={[
        {
          header: "Run",
          title: ({ run_name, run_id }) => run_name || run_id,
          cell: ({ run_id, run_name }) => (
            <Link to={`/p/${projectId}/runs/${run_id}`} className={shared.name} data-row-focus>
              <bdi>{run_name || run_id}</bdi>
            </Link>
          ),
        },
        { header: "Part", cell: ({ part }) => PARTS[part].label.replace(/ runs$/, "") },
        { header: "Became", cell: (run) => <Became run={run} /> },
        {
          header: "Attempts",
          number: true,
          cell: ({ attempts_done: done, attempts_total: total }) =>
            total === 0 ? NONE : `${formatCount(done)} of ${formatCountOf(total, "attempt")}`,
        },
        {
          header: "Replay",
          cell: ({ replay_id: id }) =>
            id === null ? NONE : <Link to={`/p/${projectId}/replays/${id}`}>Open replay</Link>,
        },
      ]}
    />
  );
}

/** What became of a run; before that, how far it is. */
function Became({ run: { outcome, status, not_replayable: refused } }: { run: ReplayBatchRun }) {
  if (refused)
    return (
      <>
        {RUN_OUTCOMES.not_replayable.label}
        <div className={`${classes.problem} ${shared.dim}`} data-code={refused.code}>
          {refusalText(refused.code)}: {refused.detail}
        </div>
      </>
    );
  if (outcome) return <span title={RUN_OUTCOMES[outcome].hint}>{RUN_OUTCOMES[outcome].label}</span>;
  return status === null ? "Waiting" : <EvaluationStatusMark status={status} />;
}
