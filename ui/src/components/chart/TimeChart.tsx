import "uplot/dist/uPlot.min.css";
import { useComputedColorScheme } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { useEffect, useMemo, useRef, useState } from "react";
import uPlot from "uplot";
import { bucketLabel, labelFits, tickLabel } from "./labels";
import {
  type ChartSeries,
  decades,
  isolated,
  powersOfTen,
  stack,
  touchedBuckets,
  WHOLE_STEPS,
} from "./series";
import classes from "./TimeChart.module.css";

interface Props {
  /** Describes the chart and its result for screen readers. */
  label: string;
  /** The start of each bucket, in seconds since 1970. */
  times: number[];
  bucketSeconds: number;
  /** Evenly spaced points instead of buckets, each with its label on the axis and its whole label. `times` are their indexes. */
  points?: readonly { tick: string; label: string }[];
  /** Stacked bars start with the first series at the bottom. */
  series: ChartSeries[];
  /** Bars are stacked, lines aren't. */
  shape: "bars" | "lines";
  height: number;
  format: (value: number) => string;
  /** The steps that the value axis may use, shortest first. Decimal steps by default. */
  steps?: readonly number[];
  /** Called with the index of a clicked bucket. */
  onPick?: (index: number) => void;
  /** Called with a selected range of whole buckets, in seconds. */
  onBrush?: (from: number, until: number) => void;
  /** A series may have no value at most points: there, it isn't named. */
  isSparse?: boolean;
  /** A logarithmic value axis, for lines. It has no zero: values of zero are drawn at its bottom. */
  isLog?: boolean;
  /** Hides the value axis. */
  bare?: boolean;
}

/** A chart over time buckets, with a tooltip. */
export default function TimeChart(props: Props) {
  const { label, times, bucketSeconds, series, shape, height, format, onPick, onBrush } = props;
  const { steps, points, isSparse = false, isLog = false, bare = false } = props;
  const { ref, width } = useElementSize();
  const scheme = useComputedColorScheme("light");
  const target = useRef<HTMLDivElement>(null);
  const [hover, setHover] = useState<{ index: number; left: number } | null>(null);
  // Creating the chart is expensive: new callbacks must not recreate it.
  const latest = useRef({ format, onPick, onBrush });
  useEffect(() => {
    latest.current = { format, onPick, onBrush };
  });

  const data = useMemo((): uPlot.AlignedData => {
    const centres = points ? times : times.map((time) => time + bucketSeconds / 2);
    const [bottom] = decades(series.flatMap((one) => one.values));
    const values = series.map((one) =>
      isLog ? one.values.map((value) => (value === null ? null : Math.max(value, bottom))) : one.values,
    );
    // Draw the highest sum first and the lower ones on top.
    return [centres, ...(shape === "bars" ? stack(values).reverse() : values)];
  }, [times, bucketSeconds, points, series, shape, isLog]);

  const colors = series.map((one) => one.color).join();
  const highest = Math.max(0, ...series.flatMap(({ high }) => high?.map((value) => value ?? 0) ?? []));
  const brushes = onBrush !== undefined;
  const picks = onPick !== undefined;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the color scheme changes the colors
  useEffect(() => {
    const element = target.current;
    if (!element || width === 0) return;
    const style = getComputedStyle(element);
    const color = (name: string) => style.getPropertyValue(name).trim();
    const shades = colors === "" ? [] : colors.split(",").map(color);
    const ordered = shape === "bars" ? shades.toReversed() : shades;
    const first = times[0] ?? 0;
    const axis = {
      stroke: color("--lt-dim"),
      font: `11px ${style.fontFamily}`,
      ticks: { show: false },
      grid: { stroke: color("--lt-border"), width: 1 },
    };
    const bars = uPlot.paths.bars?.({ size: [0.82, 60], radius: 0.12 });
    const plot = new uPlot(
      {
        width,
        height,
        padding: bare ? [2, 0, 0, 0] : [8, 8, 0, 0],
        legend: { show: false },
        scales: {
          x: points
            ? { time: false, range: [-0.5, points.length - 0.5] }
            : { time: true, range: [first, first + times.length * bucketSeconds] },
          y: isLog
            ? { distr: 3, range: decades(series.flatMap((one) => one.values)) }
            : { range: (_, _min, max) => [0, Math.max(max, highest) * 1.05 || 1] },
        },
        axes: [
          {
            ...axis,
            grid: { show: false },
            size: bare ? 18 : 26,
            gap: bare ? 1 : 4,
            space: points ? 100 : 72,
            ...(points && { incrs: [...WHOLE_STEPS] }),
            values: (u, splits, _axis, _space, step) =>
              splits.map((split) => {
                if (points) return points[split]?.tick ?? "";
                if (!Number.isInteger(split)) return ""; // The full second has a label already.
                const text = tickLabel(split, step);
                const x = u.bbox.left / uPlot.pxRatio + u.valToPos(split, "x");
                return labelFits(text, x, width) ? text : "";
              }),
          },
          bare
            ? { show: false }
            : {
                ...axis,
                size: 58,
                space: 28,
                ...(steps && !isLog && { incrs: [...steps] }),
                ...(isLog && {
                  splits: (u: uPlot) => powersOfTen(u.scales.y?.min ?? 1, u.scales.y?.max ?? 10),
                }),
                // A split is null where uPlot leaves out the label for lack of room.
                values: (_, splits: (number | null)[]) =>
                  splits.map((value) => (value === null ? "" : latest.current.format(value))),
              },
        ],
        series: [
          {},
          ...ordered.map((shade) =>
            shape === "bars"
              ? { fill: shade, stroke: shade, width: 0, paths: bars, points: { show: false } }
              : {
                  stroke: shade,
                  width: 1.75,
                  points: {
                    size: 4,
                    fill: shade,
                    width: 0,
                    // Where points are too dense to show all, one without a line would be invisible.
                    filter: (u: uPlot, index: number, all: boolean) =>
                      all ? null : isolated([...(u.data[index] ?? [])]),
                  },
                },
          ),
        ],
        cursor: {
          y: false,
          x: shape === "lines",
          points: { show: shape === "lines" },
          drag: { x: brushes, y: false, setScale: false },
        },
        select: { show: brushes, left: 0, top: 0, width: 0, height: 0 },
        hooks: {
          draw: [(u) => drawIntervals(u, series, shades, isSparse ? 0 : APART)],
          setCursor: [
            (u) => {
              const { idx, left } = u.cursor;
              setHover(
                idx == null || left == null || left < 0
                  ? null
                  : { index: idx, left: left + u.over.offsetLeft },
              );
            },
          ],
          setSelect: [
            (u) => {
              const { left, width: drawn } = u.select;
              if (drawn < 4) return;
              const [from, until] = touchedBuckets(
                u.posToVal(left, "x"),
                u.posToVal(left + drawn, "x"),
                bucketSeconds,
                first,
              );
              u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
              latest.current.onBrush?.(from, until);
            },
          ],
          ready: [
            (u) => {
              if (picks) u.over.style.cursor = "pointer";
              u.over.addEventListener("click", () => {
                if (u.cursor.idx != null) latest.current.onPick?.(u.cursor.idx);
              });
            },
          ],
        },
      },
      data,
      element,
    );
    return () => {
      setHover(null);
      plot.destroy();
    };
  }, [
    data,
    series,
    width,
    height,
    shape,
    scheme,
    colors,
    times,
    bucketSeconds,
    points,
    bare,
    steps,
    isSparse,
    isLog,
    brushes,
    picks,
  ]);

  return (
    <div ref={ref} className={classes.root} style={{ height }}>
      <div ref={target} role="img" aria-label={label} />
      {hover && times[hover.index] !== undefined && (
        <div
          className={classes.tip}
          data-left={hover.left > width / 2 || undefined}
          style={hover.left > width / 2 ? { right: width - hover.left + 10 } : { left: hover.left + 10 }}
          aria-hidden="true"
        >
          <div className={classes.time}>
            {points ? points[hover.index]?.label : bucketLabel(times[hover.index] ?? 0, bucketSeconds)}
          </div>
          {series
            .filter((one) => !isSparse || one.values[hover.index] != null)
            .map((one) => (
              <div key={one.label} className={classes.line}>
                <span className={classes.swatch} style={{ background: `var(${one.color})` }} />
                <span className={classes.name}>{one.label}</span>
                <span className={classes.value}>{valueText(one, hover.index, format)}</span>
              </div>
            ))}
        </div>
      )}
    </div>
  );
}

/** How far the intervals of neighbouring series are apart, in pixels: those of one moment would hide each other. */
const APART = 5;

/** Draws a line with caps through each value that has an interval. */
function drawIntervals(u: uPlot, series: readonly ChartSeries[], shades: readonly string[], apart: number) {
  const { ctx } = u;
  const pixel = uPlot.pxRatio;
  series.forEach(({ low, high }, index) => {
    if (!low || !high) return;
    ctx.save();
    ctx.strokeStyle = shades[index] ?? "";
    ctx.lineWidth = 1.25 * pixel;
    ctx.beginPath();
    for (const [at, time] of u.data[0].entries()) {
      const [bottom, top] = [low[at], high[at]];
      if (bottom == null || top == null) continue;
      const x = u.valToPos(time, "x", true) + (index - (series.length - 1) / 2) * apart * pixel;
      const [y1, y2] = [u.valToPos(bottom, "y", true), u.valToPos(top, "y", true)];
      ctx.moveTo(x, y1);
      ctx.lineTo(x, y2);
      for (const y of [y1, y2]) {
        ctx.moveTo(x - 2 * pixel, y);
        ctx.lineTo(x + 2 * pixel, y);
      }
    }
    ctx.stroke();
    ctx.restore();
  });
}

function valueText(
  { values, low, high }: ChartSeries,
  index: number,
  format: (value: number) => string,
): string {
  const value = values[index];
  if (value === null || value === undefined) return "unknown";
  const [bottom, top] = [low?.[index], high?.[index]];
  return bottom == null || top == null
    ? format(value)
    : `${format(value)} [${format(bottom)}, ${format(top)}]`;
}
