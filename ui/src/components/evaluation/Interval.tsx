import classes from "./Evaluation.module.css";

interface Props {
  ci: readonly number[] | null;
  format: (value: number) => string;
}

/** An interval below its value; nothing if there is none. */
export function Interval({ ci, format }: Props) {
  const [low, high] = ci ?? [];
  if (low === undefined || high === undefined) return null;
  return (
    <span className={classes.interval}>
      <span>{format(low)} to</span> <span>{format(high)}</span>
    </span>
  );
}
