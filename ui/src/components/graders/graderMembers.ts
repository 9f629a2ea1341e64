import { parseJson, writeJson } from "@/api/json";
import { isObject } from "@/components/json";
import type { Definition, Field, GraderType, Shape } from "./graderFields";
import { graderType } from "./graderTypes";

/** The definition that a JSON text has. Null if it has none. */
export function readDefinition(json: string): Definition | null {
  try {
    const value = parseJson(json);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** The fields of a definition: those whose members have a meaning. */
export function fieldsOf(type: GraderType, definition: Definition): Field[] {
  return type.fields.filter(({ when }) => !when || when(definition));
}

/** A definition with another member, undefined for none. A member that has no meaning with it is left out. */
export function withMember(definition: Definition, member: string, value: unknown): Definition {
  const { [member]: _, ...others } = definition;
  const changed = value === undefined ? others : { ...definition, [member]: value };
  const gone = (graderType(changed)?.fields ?? []).filter(({ when }) => when && !when(changed));
  return Object.fromEntries(
    Object.entries(changed).filter(([name]) => !gone.some((field) => field.member === name)),
  );
}

/** How a value is edited. An empty text is JSON, since an empty field is the default. */
export function shapeOf(value: unknown, shapes: readonly Shape[]): Shape {
  if (value === undefined || value === null || (typeof value === "string" && value !== "")) return "text";
  const isTexts = Array.isArray(value) && value.every((element) => typeof element === "string");
  return isTexts && shapes.includes("texts") ? "texts" : "json";
}

/** A value in another shape, as much of it as fits. */
export function reshaped(value: unknown, shape: Shape, fallback: string): unknown {
  const list = Array.isArray(value) ? value : value === undefined || value === null ? [] : [value];
  const text = (element: unknown) => (typeof element === "string" ? element : writeJson(element));
  if (shape === "texts") return list.map(text);
  if (shape === "json") return value ?? fallback;
  if (Array.isArray(value))
    return value.length === 0 ? undefined : value.length === 1 ? text(value[0]) : writeJson(value);
  return value === undefined || value === null ? undefined : text(value) || undefined;
}

/** The number that was typed. Undefined for an empty field or no number. */
export function readNumber(typed: string | number | bigint): number | undefined {
  const text = String(typed).trim();
  const value = Number(text);
  return text === "" || !Number.isFinite(value) ? undefined : value;
}

/** One of the graders inside another. `at` is where it is: `graders[0]`, or `graders.name` in an object. */
export interface Inner {
  at: string;
  definition: Definition;
  /** Its name in the formula, if that isn't its own. */
  key?: string;
}

/** The graders inside another, in a list, in an object by name, or one alone. */
export function innerGraders(graders: unknown): Inner[] {
  if (Array.isArray(graders))
    return graders.map((one, index) => ({ at: `graders[${index}]`, definition: isObject(one) ? one : {} }));
  if (!isObject(graders)) return [];
  if (typeof graders.type === "string") return [{ at: "graders", definition: graders }];
  return Object.entries(graders).map(([key, one]) => ({
    at: `graders.${key}`,
    definition: isObject(one) ? one : {},
    key,
  }));
}

/** The graders with another definition of one of them, null without it. */
export function withInner(graders: unknown, inner: Inner, definition: Definition | null): unknown {
  if (Array.isArray(graders)) {
    const index = Number(inner.at.slice("graders[".length, -1));
    return definition ? graders.with(index, definition) : graders.toSpliced(index, 1);
  }
  if (inner.key === undefined) return definition ?? [];
  const { [inner.key]: _, ...others } = graders as Definition;
  return definition ? { ...(graders as Definition), [inner.key]: definition } : others;
}

/** The graders with one more. */
export function withOneMore(graders: unknown, definition: Definition): unknown {
  if (isObject(graders) && typeof graders.type !== "string")
    return { ...graders, [String(definition.name)]: definition };
  return [...innerGraders(graders).map((inner) => inner.definition), definition];
}

/** What keeps a definition from being taken, by the location that the API has for it. The rest is for the server. */
export function problemsOf(definition: Definition, at: string): Record<string, string> {
  const type = graderType(definition);
  const problems: Record<string, string> = {};
  for (const field of type ? fieldsOf(type, definition) : []) {
    const message = problemOf(field, definition[field.member]);
    if (message) problems[`${at}.${field.member}`] = message;
  }
  const { min, max } = definition;
  if (type?.type === "length" || type?.type === "tool_use") {
    if (min === undefined && max === undefined)
      problems[`${at}.min`] = "Fill in a minimum, a maximum, or both.";
    if (typeof min === "number" && typeof max === "number" && min > max)
      problems[`${at}.max`] = "It must be at least the minimum.";
  }
  if (type?.type === "budget" && type.fields.every(({ member }) => definition[member] === undefined))
    problems[at] = "Fill in at least one limit.";
  if (type?.type === "multi")
    for (const inner of innerGraders(definition.graders))
      Object.assign(problems, problemsOf(inner.definition, `${at}.${inner.at}`));
  return problems;
}

function problemOf(field: Field, value: unknown): string | undefined {
  const isMissing = value === undefined || value === null || value === "";
  if ("isRequired" in field && field.isRequired && isMissing) return `Fill in: ${field.label}.`;
  if (field.kind === "select" && field.fallback === undefined && isMissing) return `Choose: ${field.label}.`;
  if (field.kind === "graders" && innerGraders(value).length === 0) return "Fill in at least one grader.";
  if (
    field.kind === "names" &&
    field.least !== undefined &&
    (!Array.isArray(value) || value.length < field.least)
  )
    return field.least === 1 ? "Fill in at least one." : `Fill in at least ${field.least}, in their order.`;
  if (field.kind === "number" && typeof value === "number") {
    if (value < field.least || value > field.most) {
      return field.most >= 1e9
        ? `A number of at least ${field.least} is expected.`
        : `A number from ${field.least} to ${field.most} is expected.`;
    }
    if (field.isWhole && !Number.isInteger(value)) return "Enter a whole number.";
  }
  return undefined;
}
