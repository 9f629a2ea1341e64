import "uplot/dist/uPlot.min.css";
import { useComputedColorScheme } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { useEffect, useMemo, useRef, useState } from "react";
import uPlot from "uplot";
import { bucketLabel, labelFits, tickLabel } from "./labels";
import { type ChartSeries, stack, touchedBuckets } from "./series";
import classes from "./TimeChart.module.css";

interface Props {
  /** What the chart shows, with its outcome: for those who do not see it. */
  label: string;
  /** The beginnings of the buckets, in seconds since 1970. */
  times: number[];
  bucketSeconds: number;
  /** The first stands at the bottom where they are stacked. */
  series: ChartSeries[];
  /** Bars are stacked, lines are not. */
  shape: "bars" | "lines";
  height: number;
  format: (value: number) => string;
  /** Those that the axis of the values may take, the shortest first; without them, decimal ones. */
  steps?: readonly number[];
  /** A click on a bucket, by its place; and the series that was nearest, where lines are. */
  onPick?: (index: number) => void;
  /** A stretch of whole buckets that was drawn over, in seconds. */
  onBrush?: (from: number, until: number) => void;
  /** Without axes: for a narrow strip. */
  bare?: boolean;
}

/** Buckets of time on a canvas, with what the pointer is over told beside it. */
export default function TimeChart(props: Props) {
  const { label, times, bucketSeconds, series, shape, height, format, onPick, onBrush } = props;
  const { steps, bare = false } = props;
  const { ref, width } = useElementSize();
  const scheme = useComputedColorScheme("light");
  const target = useRef<HTMLDivElement>(null);
  const [hover, setHover] = useState<{ index: number; left: number } | null>(null);
  // The chart is made anew when its look changes; its callbacks are always the latest.
  const latest = useRef({ format, onPick, onBrush });
  useEffect(() => {
    latest.current = { format, onPick, onBrush };
  });

  const data = useMemo((): uPlot.AlignedData => {
    const centres = times.map((time) => time + bucketSeconds / 2);
    const values = series.map((one) => one.values);
    // The highest sum is drawn first, the lower ones over it.
    return [centres, ...(shape === "bars" ? stack(values).reverse() : values)];
  }, [times, bucketSeconds, series, shape]);

  const colors = series.map((one) => one.color).join();
  const brushes = onBrush !== undefined;
  const picks = onPick !== undefined;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another scheme has other colours
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
          x: { time: true, range: [first, first + times.length * bucketSeconds] },
          y: { range: (_, _min, max) => [0, max > 0 ? max * 1.05 : 1] },
        },
        axes: [
          {
            ...axis,
            grid: { show: false },
            size: bare ? 18 : 26,
            gap: bare ? 1 : 4,
            space: 72,
            values: (u, splits, _axis, _space, step) =>
              splits.map((split) => {
                if (!Number.isInteger(split)) return ""; // the second is named already
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
                ...(steps && { incrs: [...steps] }),
                values: (_, splits) => splits.map((value) => latest.current.format(value)),
              },
        ],
        series: [
          {},
          ...ordered.map((shade) =>
            shape === "bars"
              ? { fill: shade, stroke: shade, width: 0, paths: bars, points: { show: false } }
              : { stroke: shade, width: 1.75, points: { size: 4, fill: shade, width: 0 } },
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
  }, [data, width, height, shape, scheme, colors, times, bucketSeconds, bare, steps, brushes, picks]);

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
          <div className={classes.time}>{bucketLabel(times[hover.index] ?? 0, bucketSeconds)}</div>
          {series.map((one) => (
            <div key={one.label} className={classes.line}>
              <span className={classes.swatch} style={{ background: `var(${one.color})` }} />
              <span className={classes.name}>{one.label}</span>
              <span className={classes.value}>{valueText(one.values[hover.index], format)}</span>
            </div>
          ))}
        </div>
      )}
    </div>
  );
}

function valueText(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? "unknown" : format(value);
}
