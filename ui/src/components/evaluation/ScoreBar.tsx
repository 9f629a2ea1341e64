import classes from "./ScoreBar.module.css";

interface Props {
  /** From 0 to 1; null draws the axis alone. */
  mean: number | null;
  ci: readonly number[] | null;
  /** What it says to screen readers. */
  label: string;
}

const WIDTH = 200;
const HEIGHT = 20;
const MARGIN = 6;

/** A score and its interval on an axis from 0 to 100. */
export function ScoreBar({ mean, ci, label }: Props) {
  const at = (value: number) => MARGIN + Math.max(0, Math.min(1, value)) * (WIDTH - 2 * MARGIN);
  const y = HEIGHT / 2;
  const [low, high] = ci ?? [];
  return (
    <svg className={classes.root} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
      <line className={classes.axis} x1={MARGIN} x2={WIDTH - MARGIN} y1={y} y2={y} />
      {[0, 0.5, 1].map((tick) => (
        <line key={tick} className={classes.axis} x1={at(tick)} x2={at(tick)} y1={y - 4} y2={y + 4} />
      ))}
      {low !== undefined && high !== undefined && (
        <path
          className={classes.bar}
          d={`M${at(low)} ${y}H${at(high)}M${at(low)} ${y - 4}v8M${at(high)} ${y - 4}v8`}
        />
      )}
      {mean !== null && <circle className={classes.mark} cx={at(mean)} cy={y} r={4} />}
    </svg>
  );
}
