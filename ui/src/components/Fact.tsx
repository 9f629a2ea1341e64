import classes from "./Fact.module.css";
import { UNKNOWN } from "./format";

interface Props {
  label: string;
  /** Null and undefined read "unknown". */
  value: React.ReactNode;
  title?: string;
}

/** A named value; put several into a FactList. */
export function Fact({ label, value, title }: Props) {
  const known = value !== null && value !== undefined && value !== "" && value !== UNKNOWN;
  return (
    <div className={classes.fact} title={title}>
      <dt className={classes.label}>{label}</dt>
      <dd className={classes.value} data-unknown={!known || undefined}>
        {known ? value : UNKNOWN}
      </dd>
    </div>
  );
}

/** A grid of facts. */
export function FactList({ children }: { children: React.ReactNode }) {
  return <dl className={classes.list}>{children}</dl>;
}
