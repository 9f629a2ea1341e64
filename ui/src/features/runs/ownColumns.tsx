import type { Run, ScoreSummary } from "@/api/types";
import { formatCountOf, NONE } from "@/components/format";
import type { ColumnOf } from "./column";
import classes from "./RunList.module.css";

/** What begins the id of a column of a score or of a metadata key. */
export const SCORE = "score:";
export const METADATA = "metadata:";
export type OwnColumnId = `${typeof SCORE | typeof METADATA}${string}`;

/** The API sums up the scores of at most this many names, and each column costs time while scrolling. */
export const MAX_OWN = 10;

/** Whether a column is of the project: that of a score or of a metadata key. */
export function isOwn(id: string): id is OwnColumnId {
  return (
    (id.startsWith(SCORE) && id.length > SCORE.length) ||
    (id.startsWith(METADATA) && id.length > METADATA.length)
  );
}

/** The columns of one kind. */
export function ofKind<Id extends string>(ids: readonly Id[], kind: typeof SCORE | typeof METADATA): Id[] {
  return ids.filter((id) => id.startsWith(kind));
}

/** The name of the score, or the metadata key. */
export function ownName(id: string): string {
  return id.startsWith(SCORE) ? id.slice(SCORE.length) : id.slice(METADATA.length);
}

/** The column of a score or of a metadata key. */
export function ownColumn(id: OwnColumnId): ColumnOf & { id: OwnColumnId } {
  const name = ownName(id);
  const base = { id, label: name, width: "minmax(80px, 120px)", minWidth: 94 };
  if (id.startsWith(METADATA))
    return {
      ...base,
      headTitle: `Metadata: ${name}`,
      title: (run) => metadataTitle(run, name),
      cell: (run) => <bdi>{metadataText(run, name)}</bdi>,
    };
  return {
    ...base,
    headTitle: `Score: ${name}`,
    number: true,
    title: (run) => scoreTitle(summaryOf(run, name)),
    cell: (run) => <ScoreValue summary={summaryOf(run, name)} />,
  };
}

/** A value too long for the list is left out of it. */
const LEFT_OUT = "…";

function metadataText(run: Run, key: string): string {
  return run.metadata[key] ?? (run.cut?.includes("metadata") ? LEFT_OUT : NONE);
}

function metadataTitle(run: Run, key: string): string | undefined {
  const isLeftOut = run.metadata[key] === undefined && run.cut?.includes("metadata");
  return isLeftOut ? "Too much metadata to list. Open the run to see it." : run.metadata[key];
}

function summaryOf(run: Run, name: string): ScoreSummary | undefined {
  return run.score_summaries?.find((summary) => summary.name === name);
}

function ScoreValue({ summary }: { summary: ScoreSummary | undefined }) {
  if (!summary) return <span data-missing>{NONE}</span>;
  return (
    <>
      <span dir="auto">{scoreText(summary)}</span>
      {summary.count > 1 && <span className={classes.times}> ×{summary.count}</span>}
    </>
  );
}

/** The value of a score; of several the mean, or the newest if they have no mean. */
export function scoreText({ count, mean, value, label }: ScoreSummary): string {
  if (count > 1 && mean !== null)
    return typeof value === "boolean" ? `${percent.format(mean)} true` : formatScore(mean);
  if (typeof value === "number") return label ? `${label} (${formatScore(value)})` : formatScore(value);
  return String(value);
}

/** Says what a cell shows, how many scores there are, and by whom. */
export function scoreTitle(summary: ScoreSummary | undefined): string | undefined {
  if (!summary) return undefined;
  const { count, span_count, mean, value, label } = summary;
  const newest = label ? `${label} (${value})` : String(value);
  const of =
    count === 1 ? newest : `${mean === null ? "Newest" : "Mean"} of ${formatCountOf(count, "score")}`;
  const spans =
    span_count === 0
      ? ""
      : count === 1
        ? ", of a step"
        : `, ${span_count === count ? "all" : span_count} of steps`;
  const last = count === 1 ? "" : `; newest: ${newest}`;
  return `${of}${spans}${last}\n${authorsText(summary)}`;
}

function authorsText({ authors, author_count }: ScoreSummary): string {
  if (author_count === 0) return "Sent with the run";
  const others = author_count - authors.length;
  return `By ${authors.join(", ")}${others > 0 ? ` and ${formatCountOf(others, "other")}` : ""}`;
}

const number = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 4 });
const percent = new Intl.NumberFormat("en-US", { style: "percent", maximumFractionDigits: 0 });

function formatScore(value: number): string {
  return number.format(value);
}
