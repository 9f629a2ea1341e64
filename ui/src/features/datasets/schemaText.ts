import { parseJson, writeJson } from "@/api/json";
import type { DatasetSchema } from "@/api/types";

type JsonSchema = NonNullable<DatasetSchema["input"]>;

/** Reads the text of a schema. Empty is none: null. */
export function readSchema(text: string): { value: JsonSchema | null; error: string | null } {
  if (text.trim() === "") return { value: null, error: null };
  try {
    const value = parseJson(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return { value: value as JsonSchema, error: null };
    return { value: null, error: "A schema is a JSON object." };
  } catch (error) {
    return { value: null, error: `This is not valid JSON: ${(error as Error).message}` };
  }
}

/** The text of a schema; empty for none. */
export function schemaText(schema: DatasetSchema["input"]): string {
  return schema ? writeJson(schema, 2) : "";
}

/** An item that does not fit a schema. */
export interface Violation {
  /** The key or the id of the item. */
  item: string;
  hasKey: boolean;
  reason: string;
}

/** The item that an error of the API names; null if the error is about the schema itself. */
export function readViolation(message: string): Violation | null {
  const found = /^does not fit the item (?:("(?:[^"\\]|\\.)*")|([0-9a-f-]{36})): (.*)$/s.exec(message);
  const [, quoted, id, reason = ""] = found ?? [];
  if (quoted) {
    try {
      return { item: JSON.parse(quoted) as string, hasKey: true, reason };
    } catch {
      // Go quotes a few characters in ways that JSON doesn't know.
      return { item: quoted.slice(1, -1), hasKey: true, reason };
    }
  }
  return id ? { item: id, hasKey: false, reason } : null;
}
