import { memo } from "react";
import { Link } from "react-router";
import type { Run } from "@/api/types";
import { formatAge, formatTime } from "@/components/format";
import { KindIcon } from "@/components/KindIcon";
import { Marked } from "@/components/Marked";
import { StatusMark } from "@/components/StatusMark";
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
  peeked: boolean;
  now: number;
  onFocus: (runId: string) => void;
  onSelect: (run: Run, extend: boolean) => void;
}

/** One line a run; the whole line is the link. */
export const RunRow = memo(function RunRow({
  run,
  to,
  top,
  height,
  index,
  columns,
  words,
  selected,
  peeked,
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
      data-peeked={peeked || undefined}
      style={{ transform: `translateY(${top}px)`, height }}
    >
      <span role="cell" className={classes.name}>
        {/* By keyboard it is x: one stop a row is enough. The browser's own: a list that is scrolled makes many. */}
        <input
          type="checkbox"
          className={classes.check}
          tabIndex={-1}
          checked={selected}
          aria-label={`Select ${run.name || "unnamed"}`}
          onChange={(event) => onSelect(run, (event.nativeEvent as MouseEvent).shiftKey)}
        />
        <StatusMark status={run.status} />
        <span className={classes.kind}>
          <KindIcon kind={run.kind} />
        </span>
        <Link
          to={to}
          state={{ fromList: true }}
          className={classes.link}
          data-run={run.run_id}
          onFocus={() => onFocus(run.run_id)}
        >
          <Marked text={run.name || "unnamed"} words={words} />
        </Link>
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
      {/* On a narrow screen every run says its age, whatever the columns. */}
      <span role="cell" className={classes.narrowAge} title={formatTime(run.start_time)}>
        {formatAge(run.start_time, now)}
      </span>
    </div>
  );
});
