import { LongNumber, parseJson } from "@/api/json";

/** A JSON value from outside. */
export type Json = null | boolean | number | LongNumber | string | JsonBranch;
export type JsonBranch = Json[] | { [key: string]: Json };

/** Longer text is not parsed: it would block the page. */
const MAX_PARSED = 2_000_000;

/** The JSON object or array in a text; undefined for anything else. */
export function parseStructured(text: string): JsonBranch | undefined {
  if (text.length > MAX_PARSED) return undefined;
  const first = text.trimStart()[0];
  if (first !== "{" && first !== "[") return undefined;
  try {
    return parseJson(text) as JsonBranch;
  } catch {
    return undefined;
  }
}

/** Whether a value is an object or an array. */
export function isBranch(value: Json): value is JsonBranch {
  return typeof value === "object" && value !== null && !(value instanceof LongNumber);
}

/** A value in one line: {4 keys}, [12 items], "first words". */
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

/** Whether a value of JSON.parse is an object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
