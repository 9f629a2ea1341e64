import type { Outline, Status } from "@/api/types";
import { parseTime } from "@/components/format";

/** A stretch of time, in milliseconds since the run's start. */
export interface Stretch {
  from: number;
  to: number;
}

/** A run's spans as columns: a span is its place, each parent stands before its children. */
export interface RunTree {
  size: number;
  ids: readonly string[];
  /** When the first span began, in milliseconds since the epoch. */
  startedAt: number;
  /** The place of the parent, -1 for none. */
  parent: readonly number[];
  depth: Int32Array;
  /** One behind the last span below. */
  end: Int32Array;
  /** How many spans stand directly below. */
  children: Int32Array;
  /** Failed spans below, however deep. */
  errorsBelow: Int32Array;
  status: readonly Status[];
  /** Milliseconds since the run's start. */
  start: readonly number[];
  /** Milliseconds; -1 where the span has not ended. */
  duration: readonly number[];
  /** Input and output tokens; -1 where unknown or counted elsewhere. */
  tokens: readonly number[];
  word: Record<Word, (place: number) => string>;
  /** The place of a span by its id. */
  places: ReadonlyMap<string, number>;
  /** The first failure, then what is above it. */
  errorChain: readonly number[];
  /** Where the critical path is with each span itself, in time order. */
  path: ReadonlyMap<number, readonly Stretch[]>;
  partial: boolean;
}

export type Word = "name" | "kind" | "model" | "tool" | "agent" | "error";

const WORDS: readonly Word[] = ["name", "kind", "model", "tool", "agent", "error"];

/** What a span is called on the page. */
export interface SpanHead {
  span_id: string;
  name: string;
  kind: string;
  status: Status;
}

/** Reads the tree out of an outline, in time proportional to its spans. */
export function readOutline(outline: Outline): RunTree {
  const { spans, words } = outline;
  const size = spans.span_id.length;
  const depth = new Int32Array(size);
  const end = new Int32Array(size);
  const children = new Int32Array(size);
  const errorsBelow = new Int32Array(size);
  const places = new Map<string, number>();
  for (let i = 0; i < size; i++) {
    const parent = spans.parent[i] as number;
    if (parent >= 0) {
      depth[i] = (depth[parent] as number) + 1;
      children[parent] = (children[parent] as number) + 1;
    }
    end[i] = i + 1;
    places.set(spans.span_id[i] as string, i);
  }
  for (let i = size - 1; i > 0; i--) {
    const parent = spans.parent[i] as number;
    if (parent < 0) continue;
    end[parent] = Math.max(end[parent] as number, end[i] as number);
    errorsBelow[parent] =
      (errorsBelow[parent] as number) + (errorsBelow[i] as number) + (spans.status[i] === "error" ? 1 : 0);
  }
  const path = new Map<number, Stretch[]>();
  for (let i = outline.critical_path.span.length - 1; i >= 0; i--) {
    const place = outline.critical_path.span[i] as number;
    const from = outline.critical_path.start_ms[i] as number;
    const stretch = { from, to: from + (outline.critical_path.duration_ms[i] as number) };
    const known = path.get(place);
    if (known) known.push(stretch);
    else path.set(place, [stretch]);
  }
  return {
    size,
    ids: spans.span_id,
    startedAt: parseTime(outline.start_time),
    parent: spans.parent,
    depth,
    end,
    children,
    errorsBelow,
    status: spans.status,
    start: spans.start_ms,
    duration: spans.duration_ms,
    tokens: spans.tokens,
    word: Object.fromEntries(
      WORDS.map((word) => [word, (place: number) => words[spans[word][place] as number] ?? ""]),
    ) as RunTree["word"],
    places,
    errorChain: outline.error_chain,
    path,
    partial: outline.partial,
  };
}

export function headOf(tree: RunTree, place: number): SpanHead {
  return {
    span_id: tree.ids[place] as string,
    name: tree.word.name(place),
    kind: tree.word.kind(place),
    status: tree.status[place] as Status,
  };
}

/** Which spans of a run are looked for. */
export interface SpanFilter {
  text: string;
  /** A kind, or `errors`, or `path` for the critical path; empty for all. */
  only: string;
}

export const ERRORS = "errors";
export const PATH = "path";

/** The spans that a filter finds, one flag for each; undefined where it lets all through. */
export function findSpans(tree: RunTree, filter: SpanFilter): Uint8Array | undefined {
  const text = filter.text.trim().toLowerCase();
  if (text === "" && filter.only === "") return undefined;
  const found = new Uint8Array(tree.size);
  const known = new Map<string, boolean>();
  const holds = (word: string) => {
    let answer = known.get(word);
    if (answer === undefined) {
      answer = word.toLowerCase().includes(text);
      known.set(word, answer);
    }
    return answer;
  };
  const searched = WORDS.filter((word) => word !== "kind").map((word) => tree.word[word]);
  for (let i = 0; i < tree.size; i++) {
    if (!isOf(tree, i, filter.only)) continue;
    if (text === "" || searched.some((word) => holds(word(i))) || tree.ids[i] === text) found[i] = 1;
  }
  return found;
}

function isOf(tree: RunTree, place: number, only: string): boolean {
  switch (only) {
    case "":
      return true;
    case ERRORS:
      return tree.status[place] === "error";
    case PATH:
      return tree.path.has(place);
    default:
      return tree.word.kind(place) === only;
  }
}

/** The places to show: without those under a closed span; of a filter those found and what is above them, all open. */
export function visiblePlaces(
  tree: RunTree,
  closed: ReadonlySet<string>,
  found: Uint8Array | undefined,
): Int32Array {
  const places = new Int32Array(tree.size);
  let count = 0;
  if (found) {
    const shown = found.slice();
    for (let i = tree.size - 1; i >= 0; i--) {
      const parent = tree.parent[i] as number;
      if (shown[i] && parent >= 0) shown[parent] = 1;
    }
    for (let i = 0; i < tree.size; i++) if (shown[i]) places[count++] = i;
    return places.subarray(0, count);
  }
  const isClosed = new Uint8Array(tree.size);
  for (const id of closed) {
    const place = tree.places.get(id);
    if (place !== undefined) isClosed[place] = 1;
  }
  for (let i = 0; i < tree.size; i = isClosed[i] ? (tree.end[i] as number) : i + 1) places[count++] = i;
  return places.subarray(0, count);
}

/** Where each visible span stands among the visible ones of its parent, from 1 on, and how many they are. */
export interface Siblings {
  position: (place: number) => number;
  count: (place: number) => number;
}

export function siblingsOf(tree: RunTree, visible: Int32Array): Siblings {
  const positions = new Int32Array(tree.size);
  // Of the parent's place plus one: spans without a parent are siblings.
  const counts = new Int32Array(tree.size + 1);
  const group = (place: number) => (tree.parent[place] as number) + 1;
  for (const place of visible) {
    const position = (counts[group(place)] as number) + 1;
    counts[group(place)] = position;
    positions[place] = position;
  }
  return {
    position: (place) => positions[place] as number,
    count: (place) => counts[group(place)] as number,
  };
}

/** Where a place stands among the visible ones, -1 where it does not. They are in order. */
export function rowOf(visible: Int32Array, place: number | undefined): number {
  if (place === undefined) return -1;
  let low = 0;
  let high = visible.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((visible[middle] as number) < place) low = middle + 1;
    else high = middle;
  }
  return visible[low] === place ? low : -1;
}

/** Every span that can be closed but the roots. */
export function allClosed(tree: RunTree): Set<string> {
  const closed = new Set<string>();
  for (let i = 0; i < tree.size; i++) {
    if ((tree.children[i] as number) > 0 && (tree.depth[i] as number) > 0) closed.add(tree.ids[i] as string);
  }
  return closed;
}

/** The failed span after (step 1) or before (step -1) a place, around the end. */
export function neighbourError(tree: RunTree, from: number | undefined, step: 1 | -1): number | undefined {
  const at = from ?? (step === 1 ? -1 : tree.size);
  for (let count = 1; count <= tree.size; count++) {
    const place = (((at + step * count) % tree.size) + tree.size) % tree.size;
    if (tree.status[place] === "error") return place;
  }
  return undefined;
}

/** The closed set without what hides a span. */
export function reveal(tree: RunTree, place: number, closed: ReadonlySet<string>): ReadonlySet<string> {
  const next = new Set(closed);
  for (let above = tree.parent[place] as number; above >= 0; above = tree.parent[above] as number) {
    next.delete(tree.ids[above] as string);
  }
  return next.size === closed.size ? closed : next;
}

/** By how many rows a new list moved what is on the screen: the selected row where it is in view, else the first one. */
export function rowsPushed(
  before: { tree: RunTree; visible: Int32Array },
  after: { tree: RunTree; visible: Int32Array },
  selectedId: string | undefined,
  top: number,
  height: number,
): number {
  const first = Math.floor(top);
  const selected = selectedId === undefined ? undefined : before.tree.places.get(selectedId);
  const selectedRow = rowOf(before.visible, selected);
  const isInView = selectedRow >= first && selectedRow < Math.ceil(top + height);
  const row = isInView ? selectedRow : first;
  const place = before.visible[row];
  if (place === undefined || (first === 0 && row === 0)) return 0;
  const now = rowOf(after.visible, after.tree.places.get(before.tree.ids[place] as string));
  return now < 0 ? 0 : now - row;
}

/** How long a run is, to its last end; to `now` where a span of a running run has none. */
export function lengthOf(tree: RunTree, isRunning: boolean, now: number): number {
  let length = 0;
  for (let i = 0; i < tree.size; i++) {
    const start = tree.start[i] as number;
    const duration = tree.duration[i] as number;
    length = Math.max(length, duration >= 0 ? start + duration : isRunning ? now - tree.startedAt : start);
  }
  return Math.max(length, 0.001);
}
