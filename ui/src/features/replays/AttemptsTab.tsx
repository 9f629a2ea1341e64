import { Link } from "react-router";
import type { Replay, ReplayAttempt } from "@/api/types";
import { DataTable } from "@/components/DataTable";
import shared from "@/components/evaluation/Evaluation.module.css";
import { EvaluationStatusMark } from "@/components/evaluation/Marks";
import { formatCost, formatCount, formatDuration, formatPercent, NONE, UNKNOWN } from "@/components/format";
import classes from "./Evidence.module.css";
import { ROLES } from "./words";

/** All attempts of a replay, and what became of them. */
export function AttemptsTab({ replay, onDiff }: { replay: Replay; onDiff: (attempt: number) => void }) {
  const { project_id: projectId, attempts } = replay;
  return (
    <div className={shared.body}>
      <DataTable<ReplayAttempt>
        label="Attempts"
        stacks
        rows={attempts}
        rowKey={({ number }) => String(number)}
        rowProps={({ number, role, status }) => ({
          "data-testid": "attempt",
          "data-attempt": String(number),
          "data-role": role,
          "data-status": status,
        })}
        columns={[
          {
            header: "Attempt",
            cell: (attempt) => (
              <span className={classes.attempt}>
                {attempt.number}
                <span className={shared.dim}>
                  {ROLES[attempt.role]} {attempt.index}
                </span>
                {attempt.reused && (
                  <span className={shared.tag} title="From another replay of this run">
                    reused
                  </span>
                )}
              </span>
            ),
          },
          {
            header: "Status",
            cell: (attempt) => {
              const { detail, remedy } = attempt;
              return (
                <>
                  <EvaluationStatusMark status={attempt.status} />
                  {attempt.status === "succeeded" && detail && (
                    <span className={shared.tag}>ended early</span>
                  )}
                  {detail && (
                    <div
                      className={classes.problem}
                      data-testid="attempt-problem"
                      data-reason={attempt.stop_reason ?? undefined}
                    >
                      {detail}
                      {remedy && <div className={shared.dim}>{remedy}</div>}
                    </div>
                  )}
                  {attempt.warnings.map((warning) => (
                    <div key={warning} className={`${classes.problem} ${shared.dim}`}>
                      {warning}
                    </div>
                  ))}
                </>
              );
            },
          },
          {
            header: "Outcome",
            cell: (attempt) => (wasMade(attempt) ? outcomeText(attempt.outcome) : NONE),
          },
          {
            header: "Model calls",
            number: true,
            cell: (attempt) => (wasMade(attempt) ? formatCount(attempt.model_calls) : NONE),
          },
          {
            header: "Duration",
            number: true,
            cell: (attempt) => (wasMade(attempt) ? formatDuration(attempt.duration_ms) : NONE),
          },
          {
            header: "Cost",
            number: true,
            title: ({ reused }) => (reused ? "Charged to the replay that ran it" : undefined),
            cell: (attempt) => (wasMade(attempt) ? formatCost(attempt.cost_usd) : NONE),
          },
          {
            header: "Links",
            hideHeader: true,
            cell: (attempt) =>
              attempt.run_id !== null && (
                <span className={classes.attempt}>
                  <Link to={`/p/${projectId}/runs/${attempt.run_id}`} data-row-focus>
                    Run
                  </Link>
                  <a
                    href={`?tab=difference&attempt=${attempt.number}`}
                    onClick={(event) => {
                      event.preventDefault();
                      onDiff(attempt.number);
                    }}
                  >
                    Difference
                  </a>
                </span>
              ),
          },
        ]}
      />
    </div>
  );
}

/** Whether an attempt ran to an end, so that what it lacks is unknown. */
function wasMade({ status, run_id }: ReplayAttempt): boolean {
  return run_id !== null && (status === "succeeded" || status === "failed");
}

/** The outcome of an attempt in a word. */
function outcomeText(outcome: number | null): string {
  if (outcome === null) return UNKNOWN;
  if (outcome === 1) return "✓ Good";
  if (outcome === 0) return "✗ Not good";
  return formatPercent(outcome);
}
