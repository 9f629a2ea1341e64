import { memo } from "react";
import { Link } from "react-router";
import type { Run } from "@/api/types";
import { Ago } from "@/components/Ago";
import { Highlight } from "@/components/Highlight";
import { KindIcon } from "@/components/KindIcon";
import { StatusMark, scoredAsFailed, shownStatus } from "@/components/StatusMark";
import { SOURCE_LABELS } from "@/components/source";
import type { Column } from "./columns";
import classes from "./RunList.module.css";

interface Props {
  run: Run;
  to: string;
  top: number;
  height: number;
  index: number;
  columns: readonly Column[];
  words: readonly string[];
  selected: boolean;
  previewed: boolean;
  now: number;
  onFocus: (runId: string) => void;
  onSelect: (run: Run, extend: boolean) => void;
}

/** A run in one line. The whole line is a link. */
export const RunRow = memo(function RunRow({
  run,
  to,
  top,
  height,
  index,
  columns,
  words,
  selected,
  previewed,
  now,
  onFocus,
  onSelect,
}: Props) {
  return (
    <div
      className={classes.row}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={selected}
      data-testid="run-row"
      data-status={run.status}
      data-outcome={run.outcome}
      data-previewed={previewed || undefined}
      style={{ transform: `translateY(${top}px)`, height }}
    >
      <span role="cell" className={classes.name} data-column="name">
        {/* No tab stop: the x key selects. A native checkbox, because scrolling creates many. */}
        <input
          type="checkbox"
          className={classes.check}
          tabIndex={-1}
          checked={selected}
          aria-label={`Select ${run.name || "unnamed"}`}
          onChange={(event) => onSelect(run, (event.nativeEvent as MouseEvent).shiftKey)}
        />
        <StatusMark status={shownStatus(run)} />
        <span className={classes.kind}>
          <KindIcon kind={run.kind} />
        </span>
        <Link
          to={to}
          state={{ fromList: true }}
          className={classes.link}
          dir="auto"
          data-run={run.run_id}
          onFocus={() => onFocus(run.run_id)}
        >
          <Highlight text={run.name || "unnamed"} words={words} />
        </Link>
        {run.failed_scores && <span className={classes.note}>{scoredAsFailed(run.failed_scores)}</span>}
        {!run.genai && (
          <span className={classes.note} title="This trace has no GenAI spans">
            no GenAI
          </span>
        )}
        {run.source !== "user" && <span className={classes.note}>{SOURCE_LABELS[run.source]}</span>}
      </span>
      {columns.map((column) => (
        <span
          key={column.id}
          role="cell"
          className={classes.cell}
          data-column={column.id}
          data-number={column.number || undefined}
          title={column.title?.(run)}
        >
          {column.cell(run, { now, words })}
        </span>
      ))}
      {/* Narrow screens always show the age. */}
      <span role="cell" className={classes.narrowAge}>
        <Ago time={run.start_time} now={now} bare />
      </span>
    </div>
  );
});
