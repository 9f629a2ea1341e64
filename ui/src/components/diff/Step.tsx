import { Link } from "react-router";
import type { RunDiffChange, RunDiffSpan, RunDiffStep } from "@/api/types";
import { formatBytes, formatDuration } from "@/components/format";
import { KindIcon } from "@/components/KindIcon";
import { StatusMark } from "@/components/StatusMark";
import classes from "./Diff.module.css";
import { SIGNS } from "./rows";

interface Props {
  projectId: string;
  runIds: [string, string];
  step: RunDiffStep;
  isCurrent: boolean;
  /** Whether this is the first difference. */
  isFirst: boolean;
  /** More about the step, below its head. */
  note?: React.ReactNode;
}

const MAX_DEPTH = 12;

/** One step of both runs, and its changes. */
export function Step({ projectId, runIds, step, isCurrent, isFirst, note }: Props) {
  return (
    <article
      className={classes.step}
      data-state={step.state}
      data-current={isCurrent || undefined}
      data-testid="diff-step"
      aria-current={isCurrent || undefined}
    >
      {isFirst && <p className={classes.first}>First difference</p>}
      <div className={classes.pair}>
        <Half projectId={projectId} runId={runIds[0]} span={step.base} step={step} />
        <span className={classes.sign} title={step.state}>
          <span aria-hidden="true">{SIGNS[step.state]}</span>
          <span className={classes.state}>{step.state}</span>
        </span>
        <Half projectId={projectId} runId={runIds[1]} span={step.other} step={step} />
      </div>
      {note}
      {step.changes.map((change) => (
        <Change key={change.field} change={change} />
      ))}
    </article>
  );
}

interface HalfProps {
  projectId: string;
  runId: string;
  span: RunDiffSpan | null;
  step: RunDiffStep;
}

function Half({ projectId, runId, span, step }: HalfProps) {
  if (!span) return <span className={classes.none}>not in this run</span>;
  return (
    <Link
      to={`/p/${projectId}/runs/${runId}?span=${span.span_id}`}
      className={classes.half}
      style={{ paddingLeft: Math.min(step.depth, MAX_DEPTH) * 12 }}
      title="Open the span"
    >
      <span className={classes.number}>{span.number}</span>
      <KindIcon kind={span.kind} size={15} />
      {span.status !== "ok" && <StatusMark status={span.status} />}
      <span className={classes.label}>{span.name || "unnamed"}</span>
      <span className={classes.duration}>{formatDuration(span.duration_ms)}</span>
    </Link>
  );
}

const FIELDS: Record<RunDiffChange["field"], string> = {
  name: "Name",
  status: "Status",
  model: "Model",
  instructions: "Instructions",
  tools: "Tools",
  input: "Input",
  tool_calls: "Tool calls",
  output: "Output",
  error: "Error",
};

function Change({ change }: { change: RunDiffChange }) {
  return (
    <div className={classes.change}>
      <h3>{FIELDS[change.field]}</h3>
      <div className={classes.hunks}>
        {change.hunks.map((hunk, index) => {
          const Shape = hunk.op === "removed" ? "del" : hunk.op === "added" ? "ins" : "span";
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: hunks have no id, and their order is fixed
            <span key={index}>
              {hunk.path !== null && hunk.path !== change.hunks[index - 1]?.path && (
                <code className={classes.path}>{hunk.path || "/"}</code>
              )}
              <Shape className={classes.hunk} data-op={hunk.op}>
                {hunk.op !== "same" && (
                  <span className={classes.mark} aria-hidden="true">
                    {hunk.op === "removed" ? "−" : "+"}
                  </span>
                )}
                {hunk.text}
                {hunk.left_out > 0 && <i> … {formatBytes(hunk.left_out)} not shown … </i>}
              </Shape>
            </span>
          );
        })}
        {!change.whole && <p className={classes.note}>Shortened. Open the spans for the whole texts.</p>}
      </div>
    </div>
  );
}
