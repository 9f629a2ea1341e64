import classes from "./Fact.module.css";
import { isMissing, UNKNOWN } from "./format";

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
    <div className={classes.fact} title={title} data-testid={testId}>
      <dt className={classes.label}>{label}</dt>
      <dd className={classes.value} data-missing={isMissing(value) || undefined}>
        {value || UNKNOWN}
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
