import type { ReplayChannel, ReplayChannelName } from "@/api/types";
import classes from "./Evidence.module.css";
import { axisOf, type Points, stacked } from "./evidence";
import { channelValue } from "./words";

interface Props {
  name: ReplayChannelName;
  channel: ReplayChannel;
  points: Points;
}

const WIDTH = 260;
const MARGIN = 8;
const ROW = 17;

/** The attempts of a channel on one axis: rings without the edits above, filled dots with them below, and their means as lines. */
export function ChannelPlot({ name, channel, points }: Props) {
  const [low, high] = axisOf(name, points);
  const span = high - low || 1;
  const x = (value: number) => MARGIN + ((value - low) / span) * (WIDTH - 2 * MARGIN);
  const near = (span * 8) / (WIDTH - 2 * MARGIN);
  const rows = [
    { label: "without", values: points.controls, mean: channel.controls.mean, isEdited: false },
    { label: "with", values: points.treatments, mean: channel.treatments.mean, isEdited: true },
  ];
  const height = rows.length * ROW + 4;
  return (
    <figure className={classes.plot}>
      <svg viewBox={`0 0 ${WIDTH} ${height}`} role="img" aria-label={plotText(name, points)}>
        {rows.map(({ label, values, mean, isEdited }, index) => {
          const y = 2 + index * ROW + ROW / 2;
          return (
            <g key={label}>
              <line className={classes.axis} x1={MARGIN} x2={WIDTH - MARGIN} y1={y} y2={y} />
              {mean !== null && mean >= low && mean <= high && (
                <line className={classes.mean} x1={x(mean)} x2={x(mean)} y1={y - 7} y2={y + 7} />
              )}
              {stacked(values, near).map(({ value, level }, at) => (
                <circle
                  // biome-ignore lint/suspicious/noArrayIndexKey: points have no id
                  key={at}
                  className={isEdited ? classes.edited : classes.unedited}
                  cx={x(value)}
                  cy={y + offset(level)}
                  r={3.5}
                />
              ))}
            </g>
          );
        })}
      </svg>
      <figcaption className={classes.scale}>
        <span>{channelValue(name, low)}</span>
        <span>without · with</span>
        <span>{channelValue(name, high)}</span>
      </figcaption>
    </figure>
  );
}

/** Equal points are above and below the line in turns, at most so far that rows don't meet. */
function offset(level: number): number {
  const step = Math.ceil(level / 2) * 2.2;
  return Math.min(6, step) * (level % 2 === 0 ? 1 : -1);
}

/** What the drawing says, for people who don't see it. */
function plotText(name: ReplayChannelName, points: Points): string {
  const list = (values: readonly number[]) =>
    values.length === 0 ? "none known" : values.map((value) => channelValue(name, value)).join(", ");
  return `Without the edits: ${list(points.controls)}. With the edits: ${list(points.treatments)}`;
}
