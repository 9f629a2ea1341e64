import type { CompletionDraft } from "@/api/playground";
import type { PromptMessage, PromptVersion, PromptVersionCreate, ToolAnswer } from "@/api/types";
import {
  type Draft,
  type DraftMessage,
  type DraftModel,
  type DraftVariable,
  describeTool,
  draftOf,
  emptyDraft,
  emptyModel,
  type Item,
  newId,
  readDraft,
  variableRows,
} from "@/components/editor/draft";
import { previewOf, valuesOf } from "@/components/editor/preview";
import type { PromptChoice } from "@/components/PromptPicker";
import { placeholdersOf, type Values } from "@/components/renderVersion";

/** What happens when the model calls a tool. */
export type ToolPolicy = "stop" | "fixed" | "recorded";

export interface ToolSetting {
  policy: ToolPolicy;
  /** The fixed answer. */
  content: string;
  /** What the run answered that the playground was opened from. */
  recorded: NonNullable<ToolAnswer["recorded"]>;
}

/** What is edited in the playground, without answers. It holds no secrets: the browser keeps it. */
export interface Play {
  /** Null for messages of its own. */
  prompt: PromptChoice | null;
  messages: DraftMessage[];
  format: Draft["format"];
  /** Null for those of the prompt. */
  tools: Item[] | null;
  /** JSON; empty for none, null for that of the prompt. */
  responseFormat: string | null;
  /** The typed values of variables, and the JSON of placeholders. */
  texts: Record<string, string>;
  lists: Record<string, string>;
  /** By the name of the tool. */
  toolSettings: Record<string, ToolSetting>;
  maxRounds: string;
  /** Dollars; empty for no limit. */
  maxCost: string;
  allowUnpriced: boolean;
  columns: PlayColumn[];
  /** The saved scenario that it comes from. */
  scenario: { id: string; name: string } | null;
}

export interface PlayColumn {
  id: string;
  providerId: string;
  /** Null for the shared prompt or messages. */
  prompt: PromptChoice | null;
  model: DraftModel;
  /** The parameters of a prompt that are not sent. Those of `model` are. */
  without: readonly ParameterName[];
}

/** The parameters of a model by their names in the API. */
export const parameters = {
  temperature: "temperature",
  top_p: "topP",
  max_output_tokens: "maxOutputTokens",
  stop: "stop",
  seed: "seed",
  reasoning_effort: "reasoningEffort",
  tool_choice: "toolChoice",
  extra: "extra",
} as const satisfies Record<string, keyof DraftModel>;

export type ParameterName = keyof typeof parameters;

/** A parameter that is not set. */
export function emptyParameter(name: ParameterName): Partial<DraftModel> {
  const member = parameters[name];
  return { [member]: emptyModel[member] };
}

export const MAX_COLUMNS = 4;

const stopSetting: ToolSetting = { policy: "stop", content: "", recorded: [] };

export function newColumn(): PlayColumn {
  return { id: newId(), providerId: "", prompt: null, model: emptyModel, without: [] };
}

export function emptyPlay(): Play {
  return {
    prompt: null,
    messages: emptyDraft().messages,
    format: "mustache",
    tools: [],
    responseFormat: "",
    texts: {},
    lists: {},
    toolSettings: {},
    maxRounds: "5",
    maxCost: "",
    allowUnpriced: false,
    columns: [newColumn()],
    scenario: null,
  };
}

export type Versions = ReadonlyMap<string, PromptVersion>;

export function versionKey({ id, version }: Pick<PromptChoice, "id" | "version">): string {
  return `${id}@${version}`;
}

/** The versions of prompts that columns use. */
export function choicesOf(play: Play): PromptChoice[] {
  const all = [play.prompt, ...play.columns.map(({ prompt }) => prompt)].filter((choice) => choice !== null);
  return all.filter(
    (choice, index) => all.findIndex((other) => versionKey(other) === versionKey(choice)) === index,
  );
}

/**
 * What a column sends, as a draft: its prompt, else the shared one, else the shared messages. Undefined until the version is
 * loaded.
 */
export function sourceOf(play: Play, column: PlayColumn, versions: Versions): Draft | undefined {
  const choice = column.prompt ?? play.prompt;
  const version = choice === null ? undefined : versions.get(versionKey(choice));
  if (choice !== null && !version) return undefined;
  const base = version ? draftOf(version) : { ...emptyDraft(), messages: play.messages, format: play.format };
  return {
    ...base,
    tools: play.tools ?? base.tools,
    responseFormat: play.responseFormat ?? base.responseFormat,
    model: overlaid(reduced(base.model, column.without), column.model),
  };
}

/** The parameters of the prompt that a column uses; undefined without a prompt, or while it is loading. */
export function promptModelOf(play: Play, column: PlayColumn, versions: Versions): DraftModel | undefined {
  const choice = column.prompt ?? play.prompt;
  const version = choice === null ? undefined : versions.get(versionKey(choice));
  return version && draftOf(version).model;
}

/** The parameters without some of them. */
export function reduced(model: DraftModel, without: readonly ParameterName[]): DraftModel {
  return Object.assign({}, model, ...without.map(emptyParameter));
}

/** The parameters of a prompt with those of a column, which win where they are set. */
export function overlaid(base: DraftModel, over: DraftModel): DraftModel {
  const set = Object.entries(over).filter(([, value]) => value.length > 0 && String(value).trim() !== "");
  return { ...base, ...Object.fromEntries(set), providerId: "" };
}

/** The variables and placeholders of all columns, each once. */
export function inputsOf(drafts: readonly Draft[]): { variables: DraftVariable[]; placeholders: string[] } {
  const variables = new Map<string, DraftVariable>();
  const placeholders = new Set<string>();
  for (const draft of drafts) {
    if (draft.format === "mustache") {
      for (const { isUsed, ...row } of variableRows(draft)) {
        if (isUsed && !variables.has(row.name)) variables.set(row.name, row);
      }
    }
    for (const name of placeholdersOf(readDraft(draft).content)) if (name !== "") placeholders.add(name);
  }
  return { variables: [...variables.values()], placeholders: [...placeholders] };
}

/** The names of the tools of all columns. */
export function toolNames(drafts: readonly Draft[]): string[] {
  const names = drafts.flatMap(({ tools }) => tools.map(({ json }) => describeTool(json).name));
  return [...new Set(names)].filter((name) => name !== "");
}

/** What a column would send, or why it can't. */
export interface Prepared {
  draft: CompletionDraft | null;
  problems: string[];
  content: PromptVersionCreate | null;
  values: Values | null;
}

/** Names the messages that follow those of the request. They are inserted as they are, and are no templates. */
const CONTINUATION = "looptrace_continuation";

/**
 * The request of a column. `following` are the answers and results of tools so far. `given` replaces the typed values of
 * variables.
 */
export function prepare(
  projectId: string,
  play: Play,
  column: PlayColumn,
  versions: Versions,
  { following = [], given }: { following?: PromptMessage[]; given?: Values["variables"] } = {},
): Prepared {
  const source = sourceOf(play, column, versions);
  if (!source) return { draft: null, problems: ["The prompt isn't loaded."], content: null, values: null };
  const problems: string[] = [];
  const { content, errors } = readDraft(source);
  if (column.providerId === "") problems.push("Choose a connection.");
  if (source.model.model === "") problems.push("Choose a model.");
  problems.push(
    ...errors.map(({ at, message }) => (/^[a-z_]{2,}$/.test(at) ? `${at}: ${message}` : message)),
  );
  const { variables, placeholders } = inputsOf([source]);
  const typed = valuesOf(variables, play.texts, placeholders, play.lists);
  if (!given) problems.push(...Object.entries(typed.errors).map(([name, message]) => `${name}: ${message}`));
  const values = given ? { ...typed.values, variables: pick(given, variables) } : typed.values;
  const preview = previewOf(content, values);
  problems.push(...preview.problems);
  if (preview.hasSyntaxError) problems.push("A message has a syntax error.");
  if (!isWhole(play.maxRounds, 1, 50)) problems.push("Rounds must be a whole number from 1 to 50.");
  if (play.maxCost !== "" && !(Number(play.maxCost) >= 0)) problems.push("The cost limit must be a number.");
  const unique = [...new Set(problems)];
  if (unique.length > 0) return { draft: null, problems: unique, content, values };

  const choice = column.prompt ?? play.prompt;
  // The server adds the parameters of the prompt.
  const { model_config: config } = readDraft({
    ...source,
    model: { ...column.model, providerId: "" },
  }).content;
  const messages =
    following.length > 0 && choice === null
      ? [...content.messages, { type: "placeholder", name: CONTINUATION }]
      : content.messages;
  const draft: CompletionDraft = {
    project_id: projectId,
    provider_id: column.providerId,
    ...(choice === null
      ? { messages, template_format: play.format }
      : {
          prompt: { id: choice.id, version: choice.version },
          ...(following.length > 0 ? { messages: following } : {}),
        }),
    ...(Object.keys(values.variables).length > 0 ? { variables: values.variables } : {}),
    ...placeholdersFor(values, choice === null ? following : []),
    ...(choice === null || play.tools !== null ? { tools: content.tools ?? [] } : {}),
    ...formatOf(content, choice !== null, play.responseFormat !== null),
    model_config: choice === null ? config : { ...removed(column), ...config },
    ...answersOf(play, source),
    max_rounds: Number(play.maxRounds),
    allow_unpriced: play.allowUnpriced,
    ...(play.maxCost === "" ? {} : { max_cost_usd: Number(play.maxCost) }),
  };
  return { draft, problems: [], content, values };
}

function removed({ without }: PlayColumn): CompletionDraft["model_config"] {
  return Object.fromEntries(without.map((name) => [name, null]));
}

function isWhole(text: string, min: number, max: number): boolean {
  const value = Number(text);
  return text.trim() !== "" && Number.isInteger(value) && value >= min && value <= max;
}

function pick(given: Values["variables"], variables: readonly DraftVariable[]): Values["variables"] {
  return Object.fromEntries(
    variables.filter(({ name }) => Object.hasOwn(given, name)).map(({ name }) => [name, given[name]]),
  );
}

function placeholdersFor({ placeholders }: Values, following: PromptMessage[]) {
  const all = {
    ...(placeholders as Record<string, PromptMessage[]>),
    ...(following.length > 0 ? { [CONTINUATION]: following } : {}),
  };
  return Object.keys(all).length > 0 ? { placeholders: all } : {};
}

/** A prompt's own response format needs no mention, and text takes it away. */
function formatOf({ response_format: format }: PromptVersionCreate, hasPrompt: boolean, isOwn: boolean) {
  if (!hasPrompt) return format ? { response_format: format } : {};
  return isOwn ? { response_format: format ?? { type: "text" } } : {};
}

function answersOf(play: Play, source: Draft): { tool_answers?: CompletionDraft["tool_answers"] } {
  const entries = toolNames([source]).flatMap((name): [string, ToolAnswer][] => {
    const setting = settingOf(play, name);
    if (setting.policy === "fixed") return [[name, { content: setting.content }]];
    if (setting.policy === "recorded" && setting.recorded.length > 0) {
      return [[name, { recorded: setting.recorded }]];
    }
    return [];
  });
  return entries.length > 0 ? { tool_answers: Object.fromEntries(entries) } : {};
}

/** How a tool is answered. Calls stop unless something else is chosen. */
export function settingOf({ toolSettings }: Pick<Play, "toolSettings">, name: string): ToolSetting {
  return Object.hasOwn(toolSettings, name) ? (toolSettings[name] ?? stopSetting) : stopSetting;
}
