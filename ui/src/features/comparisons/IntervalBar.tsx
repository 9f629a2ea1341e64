import type { Effect, Place } from "@/components/evaluation/measures";
import classes from "./IntervalBar.module.css";

interface Props {
  /** Null draws the axis alone. */
  place: Place | null;
  /** How far the axis reaches to both sides of 0. */
  bound: number;
  effect: Effect;
  /** What it says to screen readers. */
  label: string;
}

const WIDTH = 200;
const HEIGHT = 20;
const MARGIN = 8;

/**
 * A difference and its interval on an axis with 0 in the middle. Better is a filled triangle that points up, worse one that
 * points down, equivalent a square, and what can't be told a ring.
 */
export function IntervalBar({ place, bound, effect, label }: Props) {
  const middle = WIDTH / 2;
  const at = (value: number) =>
    middle + (Math.max(-bound, Math.min(bound, value)) / bound) * (middle - MARGIN);
  const y = HEIGHT / 2;
  return (
    <svg
      className={classes.root}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={label}
      data-effect={effect}
    >
      <line className={classes.axis} x1={MARGIN} x2={WIDTH - MARGIN} y1={y} y2={y} />
      <line className={classes.zero} x1={middle} x2={middle} y1={1} y2={HEIGHT - 1} />
      {place && place.low !== null && place.high !== null && (
        <path
          className={classes.bar}
          d={`M${at(place.low)} ${y}H${at(place.high)}M${at(place.low)} ${y - 4}v8M${at(place.high)} ${y - 4}v8`}
        />
      )}
      {place && <Mark effect={effect} x={at(place.estimate)} y={y} />}
    </svg>
  );
}

function Mark({ effect, x, y }: { effect: Effect; x: number; y: number }) {
  if (effect === "better")
    return <path className={classes.mark} d={`M${x} ${y - 6}l5.5 10h-11z`} data-filled />;
  if (effect === "worse")
    return <path className={classes.mark} d={`M${x} ${y + 6}l5.5 -10h-11z`} data-filled />;
  if (effect === "equivalent")
    return <rect className={classes.mark} x={x - 4} y={y - 4} width={8} height={8} data-filled />;
  return <circle className={classes.mark} cx={x} cy={y} r={4} />;
}
