import { formatCount } from "@/components/format";
import classes from "./Sparkline.module.css";

/** Counts over equal time intervals, oldest first. */
export function Sparkline({ counts, wide = false }: { counts: readonly number[]; wide?: boolean }) {
  const max = Math.max(1, ...counts);
  const [width, height] = wide ? [8, 64] : [4, 22];
  return (
    <svg
      className={classes.root}
      width={wide ? "100%" : counts.length * width}
      height={height}
      viewBox={`0 0 ${counts.length * width} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`Over time, oldest first: ${counts.map(formatCount).join(", ")}`}
    >
      {counts.map((count, index) => {
        const barHeight = count === 0 ? 1 : Math.max(2, (count / max) * height);
        return (
          <rect
            // biome-ignore lint/suspicious/noArrayIndexKey: a bar is identified by its interval
            key={index}
            x={index * width}
            y={height - barHeight}
            width={width - 1}
            height={barHeight}
            data-none={count === 0 || undefined}
          />
        );
      })}
    </svg>
  );
}
