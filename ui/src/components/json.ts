import { LongNumber, parseJson } from "@/api/json";

/** A JSON value that came from outside. */
export type Json = null | boolean | number | LongNumber | string | JsonBranch;
export type JsonBranch = Json[] | { [key: string]: Json };

/** A longer text stays text: reading it would hold up the page. */
const PARSE_LIMIT = 2_000_000;

/** The object or array that a text holds; undefined where it is no JSON or only a bare scalar. */
export function parseStructured(text: string): JsonBranch | undefined {
  if (text.length > PARSE_LIMIT) return undefined;
  const first = text.trimStart()[0];
  if (first !== "{" && first !== "[") return undefined;
  try {
    return parseJson(text) as JsonBranch;
  } catch {
    return undefined;
  }
}

/** Whether a value holds others. */
export function isBranch(value: Json): value is JsonBranch {
  return typeof value === "object" && value !== null && !(value instanceof LongNumber);
}

/** One line that says what a value holds: {4 keys}, [12 items], "first words". */
export function summarize(value: Json): string {
  if (Array.isArray(value)) return value.length === 1 ? "[1 item]" : `[${value.length} items]`;
  if (isBranch(value)) {
    const keys = Object.keys(value).length;
    return keys === 1 ? "{1 key}" : `{${keys} keys}`;
  }
  return typeof value === "string"
    ? JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value)
    : String(value);
}
