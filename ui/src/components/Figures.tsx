import classes from "./Figures.module.css";
import { isMissing } from "./format";

interface Props {
  testId: string;
  /** The figures by their labels. */
  of: Record<string, string>;
}

/** The totals on top of charts. */
export function Figures({ testId, of }: Props) {
  return (
    <dl className={classes.figures} data-testid={testId}>
      {Object.entries(of).map(([label, value]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd data-missing={isMissing(value) || undefined}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
