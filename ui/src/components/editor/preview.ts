import type { PromptMessage, PromptVersionCreate } from "@/api/types";
import { isObject } from "@/components/json";
import { own, renderVersion, type Values, ValuesError } from "@/components/renderVersion";
import { TemplateSyntaxError } from "@/components/template";
import { type DraftVariable, readValue } from "./draft";

/**
 * The values that the reader typed, else the examples. An empty field is no value. `errors` has what is wrong by name.
 */
export function valuesOf(
  variables: readonly DraftVariable[],
  texts: Record<string, string>,
  placeholders: readonly string[],
  lists: Record<string, string>,
) {
  const errors: Record<string, string> = {};
  const entries = variables.flatMap((variable) => {
    const { value, error } = readValue(own(texts, variable.name) ?? variable.example, variable.type);
    if (error) errors[variable.name] = error;
    return value === undefined ? [] : [[variable.name, value] as const];
  });
  const inserted = placeholders.flatMap((name) => {
    const text = own(lists, name) ?? "";
    if (text.trim() === "") return [];
    const list = readMessages(text);
    if (list === null) errors[name] = "Enter a JSON list of messages: [ … ].";
    return list === null ? [] : [[name, list] as const];
  });
  const values = { variables: Object.fromEntries(entries), placeholders: Object.fromEntries(inserted) };
  return { values, errors };
}

function readMessages(text: string): PromptMessage[] | null {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) && value.every(isObject) ? value : null;
  } catch {
    return null;
  }
}

/** The rendered messages and what is missing. Tags without a value stay, so that there is always something to see. */
export function previewOf(content: PromptVersionCreate, values: Values) {
  const problems: string[] = [];
  let hasSyntaxError = false;
  let messages: PromptMessage[] = content.messages;
  try {
    messages = renderVersion(content, values).messages;
  } catch (error) {
    if (error instanceof ValuesError) {
      problems.push(...problemsOf(error));
      const known = new Set(error.wrongTypes.map(({ name }) => name));
      const fitting = Object.entries(values.variables).filter(([name]) => !known.has(name));
      const shown = { ...values, variables: Object.fromEntries(fitting) };
      messages = renderVersion({ ...content, missing: "keep" }, shown).messages;
    } else if (error instanceof TemplateSyntaxError) {
      hasSyntaxError = true;
    } else {
      problems.push((error as Error).message);
    }
  }
  return { messages, problems, hasSyntaxError };
}

function problemsOf({ variables, placeholders, wrongTypes }: ValuesError): string[] {
  return [
    ...(variables.length > 0 ? [`No value for ${variables.join(", ")}.`] : []),
    ...(placeholders.length > 0 ? [`No messages for ${placeholders.join(", ")}.`] : []),
    ...wrongTypes.map(({ name, type }) => `${name} isn't of the type ${type}.`),
  ];
}
