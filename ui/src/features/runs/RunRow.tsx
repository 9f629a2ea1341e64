import { memo } from "react";
import { Link } from "react-router";
import type { Run } from "@/api/types";
import {
  firstWords,
  formatAge,
  formatCost,
  formatDuration,
  formatTime,
  formatTokens,
  UNKNOWN,
} from "@/components/format";
import { KindIcon } from "@/components/KindIcon";
import { StatusMark } from "@/components/StatusMark";
import { durationShare } from "./durationScale";
import classes from "./RunList.module.css";

interface Props {
  run: Run;
  to: string;
  top: number;
  height: number;
  index: number;
  now: number;
  onFocus: () => void;
}

/** One line a run; the whole line is the link. */
export const RunRow = memo(
  function RunRow({ run, to, top, height, index, now, onFocus }: Props) {
    const running = run.status === "running";
    const duration = running ? Math.max(0, now - Date.parse(run.start_time)) : run.duration_ms;
    return (
      <div
        className={classes.row}
        role="row"
        aria-rowindex={index + 2}
        data-testid="run-row"
        data-status={run.status}
        style={{ transform: `translateY(${top}px)`, height }}
      >
        <span role="cell" className={classes.name}>
          <StatusMark status={run.status} />
          <span className={classes.kind}>
            <KindIcon kind={run.kind} />
          </span>
          <Link
            to={to}
            state={{ fromList: true }}
            className={classes.link}
            data-run={run.run_id}
            onFocus={onFocus}
          >
            {run.name || "unnamed"}
          </Link>
        </span>
        <span role="cell" className={classes.words}>
          <Words run={run} />
        </span>
        <span role="cell" className={classes.duration}>
          <span className={classes.track} aria-hidden="true">
            <span
              className={classes.bar}
              data-status={run.status}
              style={{ width: `${durationShare(duration) * 100}%` }}
            />
          </span>
          <Value
            text={
              running
                ? `${formatDuration(Math.floor((duration ?? 0) / 1000) * 1000)}…`
                : formatDuration(duration)
            }
          />
        </span>
        <span role="cell" className={classes.tokens}>
          <Value text={formatTokens(run.usage?.total_tokens)} />
        </span>
        <span role="cell" className={classes.cost}>
          <Value text={formatCost(run.cost_usd)} />
        </span>
        <span role="cell" className={classes.text} data-column="models" title={run.models.join(", ")}>
          {run.models.join(", ")}
        </span>
        <span role="cell" className={classes.text} data-column="session" title={sessionTitle(run)}>
          {run.session_id ?? run.conversation_id}
        </span>
        <span role="cell" className={classes.age} title={formatTime(run.start_time)}>
          {formatAge(run.start_time, now)}
        </span>
      </div>
    );
  },
  (a, b) =>
    a.run === b.run &&
    a.to === b.to &&
    a.top === b.top &&
    a.height === b.height &&
    a.index === b.index &&
    a.now === b.now,
);

/** Says which of the two the column shows. */
function sessionTitle(run: Run): string | undefined {
  if (run.session_id !== null) return `Session ${run.session_id}`;
  return run.conversation_id === null ? undefined : `Conversation ${run.conversation_id}`;
}

function Words({ run }: { run: Run }) {
  const failure = run.error && firstWords([run.error.type, run.error.message].filter(Boolean).join(": "));
  const output = failure ?? (run.outputs === null ? null : firstWords(run.outputs));
  return (
    <>
      {run.inputs !== null && <span className={classes.input}>{firstWords(run.inputs)}</span>}
      {output !== null && (
        <>
          <span className={classes.dim}>→</span>
          <span className={failure ? classes.error : classes.output}>{output}</span>
        </>
      )}
    </>
  );
}

function Value({ text }: { text: string }) {
  return <span data-unknown={text === UNKNOWN || undefined}>{text}</span>;
}
