import type { Interval, RunTree } from "./outline";
import { zoom } from "./timing";

/** The size of the drawing of a whole run. */
export const OVERVIEW = { columns: 600, lanes: 14 };

/** Smaller runs are seen at a glance without it. */
const MIN_SPANS = 12;

/** Whether a run is worth an overview. */
export function hasOverview(tree: RunTree): boolean {
  return tree.size >= MIN_SPANS;
}

/** A run as two SVG paths of rectangles, `columns` wide and `lanes` high. */
export interface Overview {
  /** When spans ran, the first ones in the upper lanes. */
  spans: string;
  /** When failed spans ran. */
  errors: string;
}

/** Draws the whole run. Its size depends on the drawing, not on the number of spans. */
export function overviewOf(tree: RunTree, runEnd: number): Overview {
  const { columns, lanes } = OVERVIEW;
  // How many spans begin and end in each column of each lane.
  const all = new Int32Array((columns + 1) * lanes);
  const failed = new Int32Array((columns + 1) * lanes);
  for (let index = 0; index < tree.size; index++) {
    const start = tree.start[index] as number;
    const duration = tree.duration[index] as number;
    const end = duration >= 0 ? start + duration : runEnd;
    const from = Math.min(columns - 1, Math.max(0, Math.floor((start / runEnd) * columns)));
    const to = Math.min(columns, Math.max(from + 1, Math.ceil((end / runEnd) * columns)));
    const lane = tree.size <= lanes ? index : Math.floor((index * lanes) / tree.size);
    const mark = (cells: Int32Array) => {
      const row = lane * (columns + 1);
      cells[row + from] = (cells[row + from] as number) + 1;
      cells[row + to] = (cells[row + to] as number) - 1;
    };
    mark(all);
    // An ancestor fails with its descendant. Its bar would hide when that was.
    if (tree.status[index] === "error" && tree.errorsBelow[index] === 0) mark(failed);
  }
  return { spans: rectangles(all), errors: rectangles(failed) };
}

function rectangles(cells: Int32Array): string {
  const { columns, lanes } = OVERVIEW;
  let path = "";
  for (let lane = 0; lane < lanes; lane++) {
    let running = 0;
    let from = 0;
    for (let column = 0; column <= columns; column++) {
      const change = cells[lane * (columns + 1) + column] as number;
      if (running === 0 && change > 0) from = column;
      if (running > 0 && running + change === 0) path += `M${from} ${lane}H${column}V${lane + 1}H${from}Z`;
      running += change;
    }
  }
  return path;
}

/** The edge of the shown interval that is dragged. */
export type Edge = "from" | "to";

/** The shortest interval that the edges make, as a share of the run. */
const MIN_SHARE = 0.002;

/** Moves one edge of the interval to a time. It stays within the run and on its side of the other edge. */
export function moveEdge(shown: Interval, edge: Edge, at: number, runEnd: number): Interval {
  const least = runEnd * MIN_SHARE;
  return edge === "from"
    ? { from: Math.max(0, Math.min(at, shown.to - Math.min(least, shown.to - shown.from))), to: shown.to }
    : {
        from: shown.from,
        to: Math.min(runEnd, Math.max(at, shown.from + Math.min(least, shown.to - shown.from))),
      };
}

/** What a key does to the interval: moves it, or scales it around its middle. Undefined for other keys. */
export function keyOfWindow(key: string, shown: Interval, runEnd: number): Interval | undefined {
  const length = shown.to - shown.from;
  const moved = (from: number) => {
    const start = Math.max(0, Math.min(from, runEnd - length));
    return { from: start, to: start + length };
  };
  const scaled = (factor: number) => zoom(shown, factor, (shown.from + shown.to) / 2, runEnd);
  switch (key) {
    case "ArrowLeft":
      return moved(shown.from - length / 10);
    case "ArrowRight":
      return moved(shown.from + length / 10);
    case "PageUp":
      return moved(shown.from - length);
    case "PageDown":
      return moved(shown.from + length);
    case "Home":
      return moved(0);
    case "End":
      return moved(runEnd - length);
    case "ArrowUp":
      return scaled(0.8);
    case "ArrowDown":
      return scaled(1.25);
    default:
      return undefined;
  }
}

/** What a key does to an edge of the interval. Undefined for other keys. */
export function keyOfEdge(key: string, shown: Interval, edge: Edge, runEnd: number): Interval | undefined {
  const step = runEnd / 100;
  switch (key) {
    case "ArrowLeft":
    case "ArrowDown":
      return moveEdge(shown, edge, shown[edge] - step, runEnd);
    case "ArrowRight":
    case "ArrowUp":
      return moveEdge(shown, edge, shown[edge] + step, runEnd);
    case "Home":
      return moveEdge(shown, edge, 0, runEnd);
    case "End":
      return moveEdge(shown, edge, runEnd, runEnd);
    default:
      return undefined;
  }
}
