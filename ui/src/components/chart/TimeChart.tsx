import "uplot/dist/uPlot.min.css";
import { useComputedColorScheme } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { useEffect, useMemo, useRef, useState } from "react";
import uPlot from "uplot";
import { bucketLabel, labelFits, tickLabel } from "./labels";
import { type ChartSeries, isolated, stack, touchedBuckets } from "./series";
import classes from "./TimeChart.module.css";

interface Props {
  /** Describes the chart and its result for screen readers. */
  label: string;
  /** The start of each bucket, in seconds since 1970. */
  times: number[];
  bucketSeconds: number;
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
  /** Hides the value axis. */
  bare?: boolean;
}

/** A chart over time buckets, with a tooltip. */
export default function TimeChart(props: Props) {
  const { label, times, bucketSeconds, series, shape, height, format, onPick, onBrush } = props;
  const { steps, bare = false } = props;
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
    const centres = times.map((time) => time + bucketSeconds / 2);
    const values = series.map((one) => one.values);
    // Draw the highest sum first and the lower ones on top.
    return [centres, ...(shape === "bars" ? stack(values).reverse() : values)];
  }, [times, bucketSeconds, series, shape]);

  const colors = series.map((one) => one.color).join();
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
                ...(steps && { incrs: [...steps] }),
                values: (_, splits) => splits.map((value) => latest.current.format(value)),
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
