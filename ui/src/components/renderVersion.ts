import { isObject } from "./json";
import { type Missing, MissingVariablesError, render, scan } from "./template";

/**
 * Renders the versions of prompts, as the server and the Python SDK do. The cases in test/conformance/templates.json hold
 * all three together.
 */

/** A message as in OpenAI's chat completions, or `{"type": "placeholder", "name"}`. */
export type Message = Record<string, unknown>;

/** The declaration of a variable. */
export interface Variable {
  type?: "any" | "string" | "number" | "integer" | "boolean" | "object" | "array";
  required?: boolean;
  default?: unknown;
}

/** The part of a prompt's version that is rendered. */
export interface Version {
  messages: readonly Message[];
  variables?: Record<string, Variable>;
  template_format?: "mustache" | "none";
  missing?: Missing;
}

/** What a version is rendered with. */
export interface Values {
  variables: Record<string, unknown>;
  placeholders: Record<string, readonly Message[]>;
}

/** Values are missing or have another type than declared. */
export class ValuesError extends Error {
  constructor(
    readonly variables: string[],
    readonly placeholders: string[],
    readonly wrongTypes: { name: string; type: string }[],
  ) {
    super("values are missing or have another type than declared");
  }
}

/** The messages of a version with all values, and the given values that it does not name. Throws a ValuesError or a TemplateSyntaxError. */
export function renderVersion(version: Version, values: Values): { messages: Message[]; unused: string[] } {
  const { missing = "error" } = version;
  const declared = version.variables ?? {};
  const variables = withDefaults(declared, values.variables);
  const absent: string[] = [];
  const absentPlaceholders: string[] = [];
  const messages = version.messages.flatMap((message): readonly Message[] => {
    const name = placeholderOf(message);
    if (name === null) {
      return [
        withTexts(version, message, (text) => {
          try {
            return render(text, variables, missing);
          } catch (error) {
            if (!(error instanceof MissingVariablesError)) throw error;
            absent.push(...error.names);
            return text;
          }
        }),
      ];
    }
    if (Object.hasOwn(values.placeholders, name)) return values.placeholders[name] ?? [];
    if (missing === "error") absentPlaceholders.push(name);
    return missing === "keep" ? [message] : [];
  });
  const wrongTypes = Object.keys(values.variables)
    .filter((name) => !accepts(own(declared, name), values.variables[name]))
    .sort(byCodePoints)
    .map((name) => ({ name, type: own(declared, name)?.type ?? "any" }));
  if (absent.length + absentPlaceholders.length + wrongTypes.length > 0) {
    throw new ValuesError([...new Set(absent)], [...new Set(absentPlaceholders)], wrongTypes);
  }
  const used = variablesOf(version);
  const placeholders = placeholdersOf(version);
  const unused = [
    ...Object.keys(values.variables)
      .filter((name) => !used.includes(name))
      .sort(byCodePoints),
    ...Object.keys(values.placeholders)
      .filter((name) => !placeholders.includes(name))
      .sort(byCodePoints),
  ];
  return { messages, unused };
}

/** Without it, sort compares the units of UTF-16. */
function byCodePoints(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  return (a.codePointAt(at) ?? -1) - (b.codePointAt(at) ?? -1);
}

/** The first parts of all names in the texts of a version, in order of appearance. Texts end at their first error. */
export function variablesOf(version: Pick<Version, "messages" | "template_format">): string[] {
  const names = new Set<string>();
  for (const message of version.messages) {
    withTexts(version, message, (text) => {
      for (const { variable } of scan(text).tags) if (variable !== null) names.add(variable);
      return text;
    });
  }
  return [...names];
}

/** The names of a version's placeholders, in order of appearance. */
export function placeholdersOf(version: Pick<Version, "messages">): string[] {
  const names = version.messages.map(placeholderOf).filter((name) => name !== null);
  return [...new Set(names)];
}

function placeholderOf(message: Message): string | null {
  return message.type === "placeholder" && typeof message.name === "string" ? message.name : null;
}

/** A copy of a message with each template replaced. */
function withTexts(
  { template_format: format }: Pick<Version, "template_format">,
  message: Message,
  replace: (text: string) => string,
): Message {
  const { content } = message;
  if (format === "none" || placeholderOf(message) !== null) return message;
  if (typeof content === "string") return { ...message, content: replace(content) };
  if (!Array.isArray(content)) return message;
  return { ...message, content: content.map((part) => withTextsOfPart(part, replace)) };
}

function withTextsOfPart(part: unknown, replace: (text: string) => string): unknown {
  if (!isObject(part)) return part;
  if (part.type === "text" && typeof part.text === "string") return { ...part, text: replace(part.text) };
  if (part.type !== "image_url") return part;
  const image = part.image_url;
  if (typeof image === "string") return { ...part, image_url: replace(image) };
  if (!isObject(image) || typeof image.url !== "string") return part;
  return { ...part, image_url: { ...image, url: replace(image.url) } };
}

function withDefaults(
  declared: Record<string, Variable>,
  given: Record<string, unknown>,
): Record<string, unknown> {
  const defaults = Object.entries(declared)
    .filter(([, variable]) => Object.hasOwn(variable, "default") || variable.required === false)
    .map(([name, variable]) => [name, variable.default ?? null] as const);
  // Unlike an assignment, this has no special case for the name __proto__.
  return Object.fromEntries([...defaults, ...Object.entries(given)]);
}

/** Whether a value has the declared type. Null is of the type any, and of every type if the variable is not required. */
export function accepts(variable: Variable | undefined, value: unknown): boolean {
  const { type = "any", required = true } = variable ?? {};
  if (type === "any" || (value === null && !required)) return true;
  if (type === "integer") return Number.isInteger(value);
  if (type === "array") return Array.isArray(value);
  return type === "object" ? isObject(value) : typeof value === type;
}

/** A member of its own, not one that all objects have. */
export function own<T>(record: Record<string, T>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}
