import { Tooltip } from "@mantine/core";
import { useMemo } from "react";
import { formatCount, formatDuration } from "@/components/format";
import type { RunTree } from "./outline";
import { summarizePath } from "./pathSummary";
import classes from "./SpanTree.module.css";

interface Props {
  tree: RunTree;
  onSelect: (spanId: string) => void;
}

/** What the marked line in the waterfall means, how long it is, and which span has most of it. Nothing for a run without one. */
export function PathLegend({ tree, onSelect }: Props) {
  const path = useMemo(() => summarizePath(tree), [tree]);
  if (!path) return null;
  return (
    <aside className={classes.legend} aria-label="Critical path" data-testid="path-legend">
      <svg className={classes.legendLine} viewBox="0 0 18 4" aria-hidden="true">
        <path d="M0 2H18" />
      </svg>
      <Tooltip multiline maw={300} label={MEANING} events={{ hover: true, focus: true, touch: true }}>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: its explanation must be reachable by keyboard */}
        <span tabIndex={0} className={classes.legendName}>
          Critical path
        </span>
      </Tooltip>
      <span>
        {formatDuration(path.ms)} in {formatCount(path.spans)} {path.spans === 1 ? "span" : "spans"}
      </span>
      {path.spans > 1 && (
        <button
          type="button"
          className={classes.legendLongest}
          title="Show the span with the longest part"
          onClick={() => onSelect(tree.ids[path.longest] as string)}
        >
          most in <bdi>{tree.text.name(path.longest) || "unnamed"}</bdi>, {formatDuration(path.longestMs)}
        </button>
      )}
    </aside>
  );
}

const MEANING =
  "The steps that the run waited for, one after another. Only making these shorter makes the run shorter.";
