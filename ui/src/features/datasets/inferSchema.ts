import { LongNumber } from "@/api/json";

export interface Schema {
  type?: string | string[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
}

/** Deeper values are not described. */
const MAX_DEPTH = 10;
/** An object with more members than this is rather a map, whose members have no fixed names. */
const MAX_MEMBERS = 100;

/**
 * A JSON Schema that fits all the values: their types, the members of objects, and which of these all objects have. It allows
 * other members.
 */
export function inferSchema(values: readonly unknown[], depth = 0): Schema {
  const types = [...new Set(values.map(typeOf))].sort();
  const [only] = types;
  if (only === undefined) return {};
  const schema: Schema = { type: types.length === 1 ? only : types };
  if (depth >= MAX_DEPTH) return schema;

  const objects = values.filter((value): value is Record<string, unknown> => typeOf(value) === "object");
  if (objects.length > 0) {
    const names = [...new Set(objects.flatMap((object) => Object.keys(object)))];
    if (names.length > 0 && names.length <= MAX_MEMBERS) {
      schema.properties = Object.fromEntries(
        names.map((name) => [
          name,
          inferSchema(
            objects.filter((object) => Object.hasOwn(object, name)).map((object) => object[name]),
            depth + 1,
          ),
        ]),
      );
      const required = names.filter((name) => objects.every((object) => Object.hasOwn(object, name)));
      if (required.length > 0) schema.required = required;
    }
  }
  const elements = values.filter(Array.isArray).flat();
  if (elements.length > 0) schema.items = inferSchema(elements, depth + 1);
  return schema;
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (value instanceof LongNumber) return "number";
  return typeof value;
}
