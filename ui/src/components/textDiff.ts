import { diff } from "@codemirror/merge";
import { writeJson } from "@/api/json";

/** A difference of one member of two values. */
export interface ValueChange {
  path: string;
  change: "added" | "removed" | "changed";
  before?: unknown;
  after?: unknown;
}

/** A piece of two texts: in both, only in the first, or only in the second. */
export interface Hunk {
  op: "same" | "removed" | "added";
  text: string;
}

/** The differences between two texts, in whole words. */
export function diffWords(before: string, after: string): Hunk[] {
  const [a, b] = [before.match(TOKEN) ?? [], after.match(TOKEN) ?? []];
  // The algorithm compares characters, so each different word becomes one.
  const symbols = new Map<string, string>();
  const encode = (words: readonly string[]) =>
    words
      .map((word) => {
        const known = symbols.get(word);
        if (known !== undefined) return known;
        const symbol = String.fromCharCode(1 + (symbols.size % MAX_SYMBOLS));
        symbols.set(word, symbol);
        return symbol;
      })
      .join("");
  const hunks: Hunk[] = [];
  const add = (op: Hunk["op"], text: string) => {
    if (text !== "") hunks.push({ op, text });
  };
  let [atA, atB] = [0, 0];
  const [left, right] = [encode(a), encode(b)];
  if (symbols.size > MAX_SYMBOLS)
    return [
      { op: "removed", text: before },
      { op: "added", text: after },
    ];
  for (const { fromA, toA, fromB, toB } of diff(left, right, { scanLimit: 2000, timeout: 200 })) {
    add("same", a.slice(atA, fromA).join(""));
    add("removed", a.slice(fromA, toA).join(""));
    add("added", b.slice(fromB, toB).join(""));
    [atA, atB] = [toA, toB];
  }
  add("same", b.slice(atB).join(""));
  return joinAcrossSpace(hunks);
}

const TOKEN = /[\p{L}\p{M}\p{N}_]+|\n|[^\S\n]+|./gu;
/** Below the surrogates, which the algorithm doesn't separate. */
const MAX_SYMBOLS = 0xd7ff;

/** Joins differences between which only a space is the same, so that "one more" to "two less" is one. */
function joinAcrossSpace(hunks: readonly Hunk[]): Hunk[] {
  const joined: Hunk[] = [];
  let removed = "";
  let added = "";
  const flush = () => {
    if (removed !== "") joined.push({ op: "removed", text: removed });
    if (added !== "") joined.push({ op: "added", text: added });
    removed = "";
    added = "";
  };
  hunks.forEach(({ op, text }, index) => {
    if (op === "removed") removed += text;
    else if (op === "added") added += text;
    else if (/^[^\S\n]+$/.test(text) && removed !== "" && added !== "" && index < hunks.length - 1) {
      removed += text;
      added += text;
    } else {
      flush();
      joined.push({ op, text });
    }
  });
  flush();
  return joined;
}

/** Lines that stay visible around a difference. */
const CONTEXT = 3;

/** Splits long unchanged texts, so that the middle can be folded. `folded` is its number of lines. */
export function foldSame(hunks: readonly Hunk[]): (Hunk & { folded?: number })[] {
  return hunks.flatMap((hunk, index): (Hunk & { folded?: number })[] => {
    if (hunk.op !== "same") return [hunk];
    const lines = hunk.text.split("\n");
    const before = index === 0 ? 0 : CONTEXT;
    const after = index === hunks.length - 1 ? 0 : CONTEXT;
    const folded = lines.length - before - after;
    if (folded <= CONTEXT) return [hunk];
    const join = (part: string[]): Hunk => ({ op: "same", text: part.join("\n") });
    return [
      ...(before > 0 ? [join([...lines.slice(0, before), ""])] : []),
      { ...join([...lines.slice(before, lines.length - after), ""]), folded },
      ...(after > 0 ? [join(lines.slice(lines.length - after))] : []),
    ];
  });
}

/** A value of a change as text: null is nothing, a text is itself, and anything else is JSON. */
export function changeText(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : writeJson(value, 2);
}
