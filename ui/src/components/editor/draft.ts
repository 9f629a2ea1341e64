import type { PromptMessage, PromptModelConfig, PromptVersion, PromptVersionCreate } from "@/api/types";
import { isObject } from "@/components/json";
import { accepts, type Variable, variablesOf } from "@/components/renderVersion";
import type { Missing } from "@/components/template";

/** A version while it is edited. JSON is kept as text, since it is invalid while it is typed. */
export interface Draft {
  messages: DraftMessage[];
  /** The JSON of each tool. */
  tools: Item[];
  /** JSON; empty for none. */
  responseFormat: string;
  model: DraftModel;
  /** The declared variables. */
  variables: DraftVariable[];
  format: "mustache" | "none";
  missing: Missing;
  note: string;
}

/** `more` is a JSON object with the members besides role and content; empty for none. */
export type DraftMessage =
  | { id: string; kind: "placeholder"; name: string }
  | { id: string; kind: "text"; role: string; text: string; more: string }
  | { id: string; kind: "parts"; role: string; parts: DraftPart[]; more: string }
  | { id: string; kind: "none"; role: string; more: string };

export type DraftPart =
  | { id: string; kind: "text"; text: string }
  | { id: string; kind: "image"; url: string; detail: string }
  | { id: string; kind: "json"; json: string };

export interface Item {
  id: string;
  json: string;
}

/** The fields of the model configuration as texts. */
export interface DraftModel {
  providerId: string;
  model: string;
  temperature: string;
  topP: string;
  maxOutputTokens: string;
  stop: string[];
  seed: string;
  reasoningEffort: string;
  /** `auto`, `none`, `required`, or JSON. */
  toolChoice: string;
  extra: string;
}

export type VariableType = NonNullable<Variable["type"]>;

export interface DraftVariable {
  name: string;
  type: VariableType;
  required: boolean;
  /** See readValue. */
  default: string;
  description: string;
  example: string;
}

/** Something that keeps a draft from being saved. `at` is the id of the message, part or tool, or the name of a field. */
export interface DraftError {
  at: string;
  message: string;
}

let lastId = 0;

/** An id for an element of a list. Ids are no part of the content. */
export function newId(): string {
  lastId += 1;
  return `e${lastId}`;
}

/** A draft that another page kept. Ids are counted from the start of the page, so those of an earlier page would repeat. */
export function withNewIds(draft: Draft): Draft {
  const fresh = <T extends Item | { id: string }>(item: T): T => ({ ...item, id: newId() });
  return {
    ...draft,
    messages: draft.messages.map((message) =>
      fresh(message.kind === "parts" ? { ...message, parts: message.parts.map(fresh) } : message),
    ),
    tools: draft.tools.map(fresh),
  };
}

export function newVariable(name: string): DraftVariable {
  return { name, type: "any", required: true, default: "", description: "", example: "" };
}

export const emptyModel: DraftModel = {
  providerId: "",
  model: "",
  temperature: "",
  topP: "",
  maxOutputTokens: "",
  stop: [],
  seed: "",
  reasoningEffort: "",
  toolChoice: "",
  extra: "",
};

/** What a prompt without versions starts with. */
export function emptyDraft(): Draft {
  return {
    messages: [
      { id: newId(), kind: "text", role: "system", text: "", more: "" },
      { id: newId(), kind: "text", role: "user", text: "", more: "" },
    ],
    tools: [],
    responseFormat: "",
    model: emptyModel,
    variables: [],
    format: "mustache",
    missing: "error",
    note: "",
  };
}

/** A draft with the content of a version, without its note. */
export function draftOf(version: PromptVersion): Draft {
  return {
    messages: version.messages.map(messageOf),
    tools: version.tools.map((tool) => ({ id: newId(), json: pretty(tool) })),
    responseFormat: version.response_format === null ? "" : pretty(version.response_format),
    model: modelOf(version.model_config),
    variables: Object.entries(version.variables).map(([name, variable]) => {
      const type = variable.type ?? "any";
      return {
        name,
        type,
        required: variable.required ?? true,
        default: "default" in variable ? valueText(variable.default, type) : "",
        description: variable.description ?? "",
        example: "example" in variable ? valueText(variable.example, type) : "",
      };
    }),
    format: version.template_format,
    missing: version.missing,
    note: "",
  };
}

function messageOf(message: PromptMessage): DraftMessage {
  const { role, content, ...others } = message;
  const id = newId();
  if (message.type === "placeholder") return { id, kind: "placeholder", name: message.name ?? "" };
  const common = { id, role: role ?? "" };
  const more = Object.keys(others).length > 0 ? pretty(others) : "";
  if (typeof content === "string") return { ...common, kind: "text", text: content, more };
  if (Array.isArray(content)) return { ...common, kind: "parts", parts: content.map(partOf), more };
  // A message without text, such as one of tool calls. Whether its content is null or absent stays.
  return { ...common, kind: "none", more: "content" in message ? pretty({ content, ...others }) : more };
}

function partOf(part: unknown): DraftPart {
  const id = newId();
  const { type, text, image_url: image, ...others } = (isObject(part) ? part : {}) as Record<string, unknown>;
  if (Object.keys(others).length === 0) {
    if (type === "text" && typeof text === "string" && image === undefined) return { id, kind: "text", text };
    if (type === "image_url" && text === undefined && isObject(image)) {
      const { url, detail, ...rest } = image;
      if (
        typeof url === "string" &&
        (detail === undefined || (typeof detail === "string" && detail !== "")) &&
        Object.keys(rest).length === 0
      ) {
        return { id, kind: "image", url, detail: detail ?? "" };
      }
    }
  }
  return { id, kind: "json", json: pretty(part) };
}

function modelOf(config: PromptModelConfig): DraftModel {
  const number = (value: number | undefined) => (value === undefined ? "" : String(value));
  const { tool_choice: choice } = config;
  return {
    providerId: config.provider_id ?? "",
    model: config.model ?? "",
    temperature: number(config.temperature),
    topP: number(config.top_p),
    maxOutputTokens: number(config.max_output_tokens),
    stop: config.stop ?? [],
    seed: number(config.seed),
    reasoningEffort: config.reasoning_effort ?? "",
    toolChoice: choice === undefined ? "" : typeof choice === "string" ? choice : JSON.stringify(choice),
    extra: config.extra ? pretty(config.extra) : "",
  };
}

/** The content of a draft, and what keeps it from being saved. Parts with errors are left out. */
export function readDraft(draft: Draft): { content: PromptVersionCreate; errors: DraftError[] } {
  const errors: DraftError[] = [];
  const json = (at: string, text: string): unknown => {
    try {
      return JSON.parse(text);
    } catch {
      errors.push({ at, message: "This isn't valid JSON." });
      return undefined;
    }
  };
  const object = (at: string, text: string): Record<string, unknown> | undefined => {
    if (text.trim() === "") return undefined;
    const value = json(at, text);
    if (value === undefined || isObject(value)) return value as Record<string, unknown> | undefined;
    errors.push({ at, message: "This isn't a JSON object: { … }." });
    return undefined;
  };

  const messages = draft.messages.map((message): PromptMessage => {
    if (message.kind === "placeholder") {
      if (message.name.trim() === "") errors.push({ at: message.id, message: "Name the placeholder." });
      return { type: "placeholder", name: message.name.trim() };
    }
    const role = message.role === "" ? {} : { role: message.role };
    const more = object(message.id, message.more) ?? {};
    if (message.kind === "text") return { ...role, content: message.text, ...more };
    if (message.kind === "none") return { ...role, ...more };
    const content = message.parts.map((part) => {
      if (part.kind === "text") return { type: "text", text: part.text };
      if (part.kind === "json") return json(part.id, part.json) ?? {};
      const detail = part.detail === "" ? {} : { detail: part.detail };
      return { type: "image_url", image_url: { url: part.url, ...detail } };
    });
    return { ...role, content, ...more };
  });
  const tools = draft.tools.flatMap(({ id, json: text }) => {
    const tool = object(id, text);
    if (text.trim() === "") errors.push({ at: id, message: "Describe the tool, or remove it." });
    return tool ? [tool] : [];
  });
  const content: PromptVersionCreate = {
    messages,
    tools,
    response_format: object("response_format", draft.responseFormat) ?? null,
    model_config: readModel(draft.model, errors, object),
    variables: readVariables(draft, messages, errors),
    template_format: draft.format,
    missing: draft.missing,
  };
  return { content, errors };
}

function readModel(
  model: DraftModel,
  errors: DraftError[],
  object: (at: string, text: string) => Record<string, unknown> | undefined,
): PromptModelConfig {
  const config: PromptModelConfig = {};
  const number = (at: string, text: string, { whole = false } = {}): number | undefined => {
    if (text.trim() === "") return undefined;
    const value = Number(text);
    if (Number.isFinite(value) && (!whole || Number.isSafeInteger(value))) return value;
    errors.push({ at, message: whole ? "Enter a whole number." : "Enter a number." });
    return undefined;
  };
  if (model.providerId !== "") config.provider_id = model.providerId;
  if (model.model.trim() !== "") config.model = model.model.trim();
  const temperature = number("temperature", model.temperature);
  if (temperature !== undefined) config.temperature = temperature;
  const topP = number("top_p", model.topP);
  if (topP !== undefined) config.top_p = topP;
  const maxOutputTokens = number("max_output_tokens", model.maxOutputTokens, { whole: true });
  if (maxOutputTokens !== undefined) config.max_output_tokens = maxOutputTokens;
  if (model.stop.length > 0) config.stop = model.stop;
  const seed = number("seed", model.seed, { whole: true });
  if (seed !== undefined) config.seed = seed;
  if (model.reasoningEffort.trim() !== "") config.reasoning_effort = model.reasoningEffort.trim();
  if (model.toolChoice !== "") {
    config.tool_choice = model.toolChoice.startsWith("{") ? JSON.parse(model.toolChoice) : model.toolChoice;
  }
  const extra = object("extra", model.extra);
  if (extra && Object.keys(extra).length > 0) config.extra = extra;
  return config;
}

function readVariables(draft: Draft, messages: PromptMessage[], errors: DraftError[]) {
  const used = variablesOf({ messages, template_format: draft.format });
  const entries = draft.variables
    .filter((variable) => used.includes(variable.name) || !isPlain(variable))
    .map((variable) => {
      const read = (member: "default" | "example") => {
        const { value, error } = readValue(variable[member], variable.type);
        if (error) errors.push({ at: `${member} ${variable.name}`, message: error });
        return value === undefined ? {} : { [member]: value };
      };
      const entry = {
        type: variable.type,
        required: variable.required,
        ...read("default"),
        ...(variable.description.trim() === "" ? {} : { description: variable.description.trim() }),
        ...read("example"),
      };
      return [variable.name, entry] as const;
    });
  // The server adds those that are used and not declared. So a draft has them too, to compare equal.
  const declared = new Set(entries.map(([name]) => name));
  const inferred = used
    .filter((name) => !declared.has(name))
    .map((name) => [name, { type: "any", required: true }] as const);
  return Object.fromEntries(
    [...entries, ...inferred].sort(([a], [b]) => (a < b ? -1 : 1)),
  ) as PromptVersionCreate["variables"];
}

function isPlain({ type, required, description, ...values }: DraftVariable): boolean {
  return type === "any" && required && description === "" && values.default === "" && values.example === "";
}

/** The declared variables and those of the texts, in the order of the texts, with the unused ones last. */
export function variableRows(draft: Draft): (DraftVariable & { isUsed: boolean })[] {
  const { messages } = readDraft(draft).content;
  const used = variablesOf({ messages, template_format: draft.format });
  const declared = new Map(draft.variables.map((variable) => [variable.name, variable]));
  return [
    ...used.map((name) => ({ ...(declared.get(name) ?? newVariable(name)), isUsed: true })),
    ...draft.variables
      .filter((variable) => !used.includes(variable.name) && !isPlain(variable))
      .map((variable) => ({ ...variable, isUsed: false })),
  ];
}

/** A value as it is typed: the text itself for texts, else JSON. A text that reads as JSON is quoted. */
export function valueText(value: unknown, type: VariableType): string {
  if (typeof value !== "string") return JSON.stringify(value) ?? "";
  if (type === "string") return value === "" ? '""' : value;
  return value === "" || isJson(value) ? JSON.stringify(value) : value;
}

/**
 * Reads a typed value. Nothing is no value; `""` is the empty text. For the type any, a text that is no JSON is that text.
 */
export function readValue(text: string, type: VariableType): { value?: unknown; error?: string } {
  if (text === "") return {};
  if (type === "string") return { value: text === '""' ? "" : text };
  let value: unknown = text;
  try {
    value = JSON.parse(text);
  } catch {
    if (type !== "any") return { error: `No JSON of the type ${type}.` };
  }
  return accepts({ type }, value) || value === null ? { value } : { error: `Not of the type ${type}.` };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Whether two drafts would be saved as the same content. */
export function isSameContent(a: Draft, b: Draft): boolean {
  const [left, right] = [readDraft(a), readDraft(b)];
  return (
    JSON.stringify(left.content) === JSON.stringify(right.content) &&
    left.errors.length === right.errors.length
  );
}

/** Reads tools that were pasted: one, a list, or a request with `tools`. Null if it is none of these. */
export function readTools(text: string): Record<string, unknown>[] | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (isObject(value) && Array.isArray(value.tools)) value = value.tools;
  const list = Array.isArray(value) ? value : [value];
  if (list.length === 0 || !list.every(isObject)) return null;
  return list.map((tool) => {
    // A bare function, as in older requests and in the Responses API.
    if (tool.type === undefined && typeof tool.name === "string") return { type: "function", function: tool };
    if (tool.type === "function" && tool.function === undefined && typeof tool.name === "string") {
      const { type, ...others } = tool;
      return { type, function: others };
    }
    return tool;
  });
}

/** The name and description of a tool, as far as its JSON can be read. */
export function describeTool(json: string): { name: string; description: string } {
  try {
    const tool: unknown = JSON.parse(json);
    const described = isObject(tool) && isObject(tool.function) ? tool.function : tool;
    if (!isObject(described)) return { name: "", description: "" };
    const text = (value: unknown) => (typeof value === "string" ? value : "");
    return {
      name: text(described.name) || text(described.type),
      description: text(described.description),
    };
  } catch {
    return { name: "", description: "" };
  }
}

export function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? "";
}
