import { formatCount } from "@/components/format";
import classes from "./Sparkline.module.css";

/** Counts over equal parts of a window, the oldest first. */
export function Sparkline({ counts, wide = false }: { counts: readonly number[]; wide?: boolean }) {
  const most = Math.max(1, ...counts);
  const [width, height] = wide ? [8, 64] : [4, 22];
  return (
    <svg
      className={classes.root}
      width={wide ? "100%" : counts.length * width}
      height={height}
      viewBox={`0 0 ${counts.length * width} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`Over time, the oldest first: ${counts.map(formatCount).join(", ")}`}
    >
      {counts.map((count, at) => {
        const tall = count === 0 ? 1 : Math.max(2, (count / most) * height);
        return (
          <rect
            // biome-ignore lint/suspicious/noArrayIndexKey: a bar is its place in time
            key={at}
            x={at * width}
            y={height - tall}
            width={width - 1}
            height={tall}
            data-none={count === 0 || undefined}
          />
        );
      })}
    </svg>
  );
}
