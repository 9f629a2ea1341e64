import type { ReplayChannel } from "@/api/types";
import classes from "./Evidence.module.css";
import { effectInterval, effectValue } from "./words";

const WIDTH = 160;
const HEIGHT = 18;
const MARGIN = 8;

/** An effect with its interval beside none at all: 0, or a ratio of 1, whose axis is logarithmic. */
export function EffectBar({ channel, isFound }: { channel: ReplayChannel; isFound: boolean }) {
  const { effect, ci, measure } = channel;
  if (effect === null) return null;
  const isRatio = measure === "ratio";
  if (isRatio && (effect <= 0 || ci?.some((end) => end <= 0))) return null;
  const scaled = (value: number) => (isRatio ? Math.log(value) : value);
  const values = [effect, ...(ci ?? [])].map(scaled);
  const isDistance = measure === "energy_distance";
  const reach = Math.max(1e-9, ...values.map(Math.abs)) * 1.1;
  const x = (value: number) =>
    isDistance
      ? MARGIN + (Math.max(0, value) / reach) * (WIDTH - 2 * MARGIN)
      : WIDTH / 2 + (value / reach) * (WIDTH / 2 - MARGIN);
  const y = HEIGHT / 2;
  const [low, high] = (ci ?? []).map(scaled);
  const interval = ci ? `, 95 % interval ${effectInterval(measure, ci)}` : "";
  return (
    <svg
      className={classes.effect}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={`Effect ${effectValue(measure, effect)}${interval}`}
    >
      <line className={classes.axis} x1={MARGIN} x2={WIDTH - MARGIN} y1={y} y2={y} />
      <line className={classes.zero} x1={x(0)} x2={x(0)} y1={1} y2={HEIGHT - 1} />
      {low !== undefined && high !== undefined && (
        <path
          className={classes.bar}
          data-found={isFound || undefined}
          d={`M${x(low)} ${y}H${x(high)}M${x(low)} ${y - 4}v8M${x(high)} ${y - 4}v8`}
        />
      )}
      <circle
        className={classes.estimate}
        data-found={isFound || undefined}
        cx={x(scaled(effect))}
        cy={y}
        r={4}
      />
    </svg>
  );
}
