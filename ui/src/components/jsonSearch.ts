import { isBranch, type Json } from "./json";

/** A key or value of a JSON document that matches a search. */
export interface JsonMatch {
  /** The keys from the root. */
  path: readonly string[];
  where: "key" | "value";
}

/** The matches of a search in the document's order. */
export interface JsonMatches {
  matches: readonly JsonMatch[];
  /** There are more matches. */
  isCut: boolean;
}

/** More matches are not counted: nobody steps through them. */
const MAX_MATCHES = 10_000;

/** Finds the keys of objects and the scalars that contain a text, case-insensitive. Undefined for an empty text. */
export function findInJson(value: Json, text: string, max = MAX_MATCHES): JsonMatches | undefined {
  const pattern = patternOf(text);
  if (!pattern) return undefined;
  const matches: JsonMatch[] = [];
  // A stack of its own: documents may be nested deeper than calls can be.
  const stack: { value: Json; path: readonly string[]; isNamed: boolean }[] = [
    { value, path: [], isNamed: false },
  ];
  for (let next = stack.pop(); next; next = stack.pop()) {
    const { value, path, isNamed } = next;
    if (isNamed && contains(pattern, path.at(-1) as string)) matches.push({ path, where: "key" });
    if (isBranch(value)) {
      const keys = Object.keys(value);
      for (let index = keys.length - 1; index >= 0; index--) {
        const key = keys[index] as string;
        stack.push({
          value: (value as Record<string, Json>)[key] as Json,
          path: [...path, key],
          isNamed: !Array.isArray(value),
        });
      }
    } else if (contains(pattern, scalarText(value))) matches.push({ path, where: "value" });
    if (matches.length > max) return { matches: matches.slice(0, max), isCut: true };
  }
  return { matches, isCut: false };
}

/** A scalar as it is searched and shown, without the quotes of a string. */
function scalarText(value: Json): string {
  return String(value);
}

/** Splits a text into parts that match a search and parts that don't. */
export function splitByMatch(text: string, search: string): { text: string; isHit: boolean }[] {
  const pattern = patternOf(search);
  if (!pattern) return [{ text, isHit: false }];
  const parts: { text: string; isHit: boolean }[] = [];
  let at = 0;
  for (const match of text.matchAll(pattern)) {
    if (match.index > at) parts.push({ text: text.slice(at, match.index), isHit: false });
    parts.push({ text: match[0], isHit: true });
    at = match.index + match[0].length;
  }
  if (at < text.length) parts.push({ text: text.slice(at), isHit: false });
  return parts;
}

/** The position of the first match in a text; -1 for none. */
export function firstMatch(text: string, search: string): number {
  const pattern = patternOf(search);
  return pattern ? text.search(pattern) : -1;
}

/** Smaller documents are seen at a glance. */
const MIN_VALUES = 25;
const MIN_CHARACTERS = 1_500;

/** Whether a document is large enough for a search. */
export function isWorthSearching(value: Json): boolean {
  let values = 0;
  let characters = 0;
  const stack: Json[] = [value];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    values++;
    if (typeof next === "string") characters += next.length;
    if (isBranch(next)) {
      // Beyond the limit the number of keys decides.
      const items = Object.values(next);
      if (values + items.length >= MIN_VALUES) return true;
      stack.push(...items);
    }
    if (values > 1 && characters >= MIN_CHARACTERS) return true;
  }
  return false;
}

function patternOf(text: string): RegExp | undefined {
  return text === "" ? undefined : new RegExp(text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"), "gi");
}

function contains(pattern: RegExp, text: string): boolean {
  pattern.lastIndex = 0;
  return pattern.test(text);
}
