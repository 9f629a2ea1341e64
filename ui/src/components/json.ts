/** A JSON value that came from outside. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** A longer text stays text: reading it would hold up the page. */
const PARSE_LIMIT = 2_000_000;

/** The object or array that a text holds; undefined where it is no JSON or only a bare scalar. */
export function parseStructured(text: string): Json | undefined {
  if (text.length > PARSE_LIMIT) return undefined;
  const first = text.trimStart()[0];
  if (first !== "{" && first !== "[") return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Json) : undefined;
  } catch {
    return undefined;
  }
}

/** One line that says what a value holds: {4 keys}, [12 items], "first words". */
export function summarize(value: Json): string {
  if (Array.isArray(value)) return value.length === 1 ? "[1 item]" : `[${value.length} items]`;
  if (typeof value === "object" && value !== null) {
    const keys = Object.keys(value).length;
    return keys === 1 ? "{1 key}" : `{${keys} keys}`;
  }
  return typeof value === "string"
    ? JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value)
    : String(value);
}
