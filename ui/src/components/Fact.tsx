import classes from "./Fact.module.css";
import { formatTime, isMissing, NONE, UNKNOWN } from "./format";

interface Props {
  label: string;
  /** Null and undefined show "unknown". */
  value: React.ReactNode;
  title?: string;
  testId?: string;
}

/** A labelled value inside a FactList. */
export function Fact({ label, value, title, testId }: Props) {
  return (
    // A cut text is whole in the title.
    <div
      className={classes.fact}
      title={title ?? (typeof value === "string" ? value : undefined)}
      data-testid={testId}
    >
      <dt className={classes.label}>{label}</dt>
      <dd className={classes.value} data-missing={isMissing(value) || undefined}>
        {typeof value === "string" && value !== "" ? <bdi>{value}</bdi> : value || UNKNOWN}
      </dd>
    </div>
  );
}

/** A labelled moment, in full: it takes a second line where one is too narrow. Null shows that there is none. */
export function TimeFact({ label, time }: { label: string; time: string | null }) {
  return (
    <div className={classes.fact}>
      <dt className={classes.label}>{label}</dt>
      <dd className={classes.value} data-time={time !== null || undefined}>
        {time === null ? NONE : <time dateTime={time}>{formatTime(time)}</time>}
      </dd>
    </div>
  );
}

/** Facts in a grid, or one after the other in the lines of a header. */
export function FactList({ inline, children }: { inline?: boolean; children: React.ReactNode }) {
  return (
    <dl className={classes.list} data-inline={inline || undefined}>
      {children}
    </dl>
  );
}
