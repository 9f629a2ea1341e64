import type { Run } from "@/api/types";
import { Ago } from "@/components/Ago";
import {
  firstWords,
  formatCount,
  formatDuration,
  formatMoment,
  formatRunCost,
  formatRunTokens,
  formatTime,
  isMissing,
  unpricedNote,
} from "@/components/format";
import { Highlight } from "@/components/Highlight";
import { fromFirstHit, hasHit } from "@/components/words";
import type { ColumnOf } from "./column";
import { durationShare } from "./durationScale";
import { isOwn, MAX_OWN, METADATA, type OwnColumnId, ofKind, ownColumn, SCORE } from "./ownColumns";
import classes from "./RunList.module.css";

/** All columns in order, except the name, which is always first. */
export const COLUMNS = [
  {
    id: "words",
    label: "Input → output",
    width: "minmax(140px, 2.6fr)",
    minWidth: 154,
    cell: (run, { words }) => <Words run={run} words={words} />,
  },
  {
    id: "duration",
    label: "Duration",
    width: "minmax(76px, 150px)",
    minWidth: 90,
    number: true,
    order: "duration_ms",
    cell: (run, { now }) => <Duration run={run} now={now} />,
  },
  {
    id: "tokens",
    label: "Tokens",
    width: "74px",
    minWidth: 88,
    number: true,
    order: "total_tokens",
    cell: (run) => <Value text={formatRunTokens(run)} />,
  },
  {
    id: "cost",
    label: "Cost",
    width: "84px",
    minWidth: 98,
    number: true,
    order: "cost_usd",
    title: unpricedNote,
    cell: (run) => <Value text={formatRunCost(run)} />,
  },
  {
    id: "models",
    label: "Models",
    width: "minmax(80px, 130px)",
    minWidth: 94,
    title: (run) => run.models.join(", "),
    cell: (run) => <bdi>{run.models.join(", ")}</bdi>,
  },
  {
    id: "session",
    label: "Session",
    width: "minmax(70px, 110px)",
    minWidth: 84,
    title: sessionTitle,
    cell: (run) => <bdi>{run.session_id ?? run.conversation_id}</bdi>,
  },
  {
    id: "user",
    label: "User",
    width: "minmax(70px, 110px)",
    minWidth: 84,
    title: (run) => run.user_id ?? undefined,
    cell: (run) => <bdi>{run.user_id}</bdi>,
  },
  {
    id: "agent",
    label: "Agent",
    width: "minmax(80px, 130px)",
    minWidth: 94,
    title: (run) => run.agent_name ?? undefined,
    cell: (run) => <bdi>{run.agent_name}</bdi>,
  },
  {
    id: "environment",
    label: "Environment",
    width: "minmax(70px, 100px)",
    minWidth: 84,
    title: (run) => run.environment ?? undefined,
    cell: (run) => <bdi>{run.environment}</bdi>,
  },
  {
    id: "release",
    label: "Version",
    width: "minmax(70px, 100px)",
    minWidth: 84,
    title: (run) => run.release ?? undefined,
    cell: (run) => <bdi>{run.release}</bdi>,
  },
  {
    id: "agent_release",
    label: "Agent release",
    width: "minmax(70px, 110px)",
    minWidth: 84,
    title: (run) => run.agent_release ?? undefined,
    cell: (run) => run.agent_release,
  },
  {
    id: "tags",
    label: "Tags",
    width: "minmax(80px, 130px)",
    minWidth: 94,
    title: (run) => run.tags.join(", "),
    cell: (run) => <bdi>{run.tags.join(", ")}</bdi>,
  },
  {
    id: "spans",
    label: "Spans",
    width: "60px",
    minWidth: 74,
    number: true,
    cell: (run) => formatCount(run.span_count),
  },
  {
    id: "errors",
    label: "Errors",
    width: "54px",
    minWidth: 68,
    number: true,
    cell: (run) => formatCount(run.error_count),
  },
  {
    id: "started",
    label: "Started",
    width: "140px",
    minWidth: 154,
    title: (run) => formatTime(run.start_time),
    cell: (run, { now }) => formatMoment(run.start_time, now),
  },
  {
    id: "age",
    label: "Age",
    width: "var(--lt-age-width)",
    minWidth: 66,
    number: true,
    order: "start_time",
    cell: (run, { now }) => <Ago time={run.start_time} now={now} bare />,
  },
] as const satisfies readonly ColumnOf[];

type FixedColumnId = (typeof COLUMNS)[number]["id"];
/** A column of every project, or that of a score or a metadata key. */
export type ColumnId = FixedColumnId | OwnColumnId;
export type Column = ColumnOf & { id: ColumnId };

/** Widths in pixels that the user gave columns, by id. The first column has the id "name". */
export type Widths = Readonly<Record<string, number>>;

/** The columns, in order, and their widths. */
export interface Layout {
  columns: readonly ColumnId[];
  widths: Widths;
}

const DEFAULT: readonly FixedColumnId[] = ["words", "duration", "tokens", "cost", "models", "session", "age"];
export const DEFAULT_LAYOUT: Layout = { columns: DEFAULT, widths: {} };
/** The columns to drop first on narrow screens. */
const DROP_ORDER: readonly ColumnId[] = ["session", "models", "cost", "tokens"];
/** The columns of scores and metadata stand before these. */
const LAST: readonly ColumnId[] = ["started", "age"];

/** The space between two columns, in pixels. */
export const GAP = 14;
const NAME_WIDTH = 190;
/** The space around the name's column, in pixels. */
const NAME_SPACE = 36;

/** These columns, in the order in which they stand. Unknown ones are left out. */
export function inOrder(ids: readonly string[]): ColumnId[] {
  const fixed = COLUMNS.map(({ id }) => id).filter((id) => ids.includes(id));
  const own = [...new Set(ids)].filter(isOwn);
  return [
    ...fixed.filter((id) => !LAST.includes(id)),
    ...ofKind(own, SCORE).slice(0, MAX_OWN),
    ...ofKind(own, METADATA).slice(0, MAX_OWN),
    ...fixed.filter((id) => LAST.includes(id)),
  ];
}

/** Whether these are the default columns. */
function isDefault(columns: readonly ColumnId[]): boolean {
  return columns.join() === DEFAULT.join();
}

const fixedColumns: ReadonlyMap<string, Column> = new Map(COLUMNS.map((column) => [column.id, column]));

/**
 * The columns to show in `width` pixels. Chosen columns are always shown and may scroll sideways; default columns are
 * dropped until they fit.
 */
export function shownColumns(columns: readonly ColumnId[], width: number): Column[] {
  let shown = columns.flatMap((id): Column[] => {
    const column = fixedColumns.get(id) ?? (isOwn(id) ? ownColumn(id) : undefined);
    return column ? [column] : [];
  });
  if (!isDefault(columns) || width === 0) return shown;
  for (const dropped of DROP_ORDER) {
    // Their own widths, so that none disappears while another one is being widened.
    if (totalMinWidth(shown, {}) <= width) break;
    shown = shown.filter(({ id }) => id !== dropped);
  }
  return shown;
}

/** How much wider than an age a date is, in pixels: the two of --lt-age-width. */
export const DATE_SPACE = 84;

/** The minimum width of the columns and the name, in pixels. */
export function totalMinWidth(columns: readonly Column[], widths: Widths): number {
  return columns.reduce(
    (sum, { id, minWidth }) => sum + (widths[id] === undefined ? minWidth : widths[id] + GAP),
    (widths.name ?? NAME_WIDTH) + NAME_SPACE,
  );
}

/** The tracks of the grid that a row is. */
export function tracksOf(columns: readonly Column[], widths: Widths): string {
  const track = (id: string, width: string) => (widths[id] === undefined ? width : `${widths[id]}px`);
  return [
    track("name", `minmax(${NAME_WIDTH}px, 1fr)`),
    ...columns.map(({ id, width }) => track(id, width)),
  ].join(" ");
}

/** Says whether the column shows a session or a conversation. */
function sessionTitle(run: Run): string | undefined {
  if (run.session_id !== null) return `Session ${run.session_id}`;
  return run.conversation_id === null ? undefined : `Conversation ${run.conversation_id}`;
}

function Duration({ run, now }: { run: Run; now: number }) {
  const running = run.status === "running";
  const duration = running ? Math.max(0, now - Date.parse(run.start_time)) : run.duration_ms;
  return (
    <>
      <span className={classes.track} aria-hidden="true">
        <span
          className={classes.bar}
          data-status={run.status}
          style={{ width: `${durationShare(duration) * 100}%` }}
        />
      </span>
      <Value
        text={
          running ? `${formatDuration(Math.floor((duration ?? 0) / 1000) * 1000)}…` : formatDuration(duration)
        }
      />
    </>
  );
}

function Words({ run, words }: { run: Run; words: readonly string[] }) {
  const failure = run.error && firstWords([run.error.type, run.error.message].filter(Boolean).join(": "));
  const output = failure ?? (run.outputs === null ? null : firstWords(run.outputs));
  const input = run.inputs === null ? null : firstWords(run.inputs);
  const isShown = [run.name, input ?? "", output ?? ""].some((text) => hasHit(text, words));
  return (
    <>
      {input !== null && (
        <span className={classes.input} dir="auto">
          <Highlight text={fromFirstHit(input, words)} words={words} />
        </span>
      )}
      {output !== null && (
        <>
          <span className={classes.dim}>→</span>
          <span className={failure ? classes.error : classes.output} dir="auto">
            <Highlight text={fromFirstHit(output, words)} words={words} />
          </span>
        </>
      )}
      {words.length > 0 && !isShown && <span className={classes.deeper}>found in a later step</span>}
    </>
  );
}

function Value({ text }: { text: string }) {
  return <span data-missing={isMissing(text) || undefined}>{text}</span>;
}
