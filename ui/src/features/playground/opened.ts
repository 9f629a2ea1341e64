import type { PlaygroundOpened, PromptVersion, ScenarioContent, ToolAnswer } from "@/api/types";
import {
  type Draft,
  draftOf,
  emptyModel,
  newId,
  pretty,
  readDraft,
  valueText,
} from "@/components/editor/draft";
import {
  emptyPlay,
  newColumn,
  overlaid,
  type Play,
  type PlayColumn,
  reduced,
  settingOf,
  type ToolSetting,
} from "./play";

type Restored = Pick<PlaygroundOpened, "messages" | "tools" | "response_format" | "model_config">;

function restore({ messages, tools, response_format, model_config }: Restored): Draft {
  return draftOf({
    messages,
    tools,
    response_format,
    model_config,
    variables: {},
  } as unknown as PromptVersion);
}

/** A playground with what a recorded call sent. Its texts are no templates: what looks like a tag is sent as it is. */
export function playOf(opened: PlaygroundOpened): Play {
  const draft = restore(opened);
  const column: PlayColumn = {
    ...newColumn(),
    providerId: opened.provider_id ?? "",
    model: { ...draft.model, providerId: "" },
  };
  return {
    ...emptyPlay(),
    ...(draft.messages.length > 0 ? { messages: draft.messages } : {}),
    format: "none",
    tools: draft.tools,
    responseFormat: draft.responseFormat,
    toolSettings: settingsOf(opened.tool_answers),
    columns: [column],
  };
}

function settingsOf(answers: Record<string, ToolAnswer>): Record<string, ToolSetting> {
  return Object.fromEntries(
    Object.entries(answers).map(([name, { content, recorded }]) => [
      name,
      content === undefined
        ? { policy: "recorded", content: "", recorded: recorded ?? [] }
        : { policy: "fixed", content, recorded: recorded ?? [] },
    ]),
  );
}

/** A saved scenario in the playground, with the columns that are open. */
export function withScenario(
  play: Play,
  scenario: { id: string; name: string },
  content: ScenarioContent,
): Play {
  const draft = restore({
    messages: content.messages,
    tools: content.tools ?? [],
    response_format: content.response_format ?? null,
    model_config: {},
  });
  return {
    ...play,
    prompt: null,
    messages: draft.messages.length > 0 ? draft.messages : emptyPlay().messages,
    format: "mustache",
    tools: draft.tools,
    responseFormat: draft.responseFormat,
    texts: Object.fromEntries(
      Object.entries(content.variables ?? {}).map(([name, value]) => [name, valueText(value, "any")]),
    ),
    lists: {},
    toolSettings: settingsOf(content.tool_answers ?? {}),
    columns: play.columns.map((column) => ({ ...column, prompt: null })),
    scenario,
  };
}

/** What a scenario keeps of the playground. `source` is what the first column sends. */
export function scenarioOf(play: Play, source: Draft, variables: Record<string, unknown>): ScenarioContent {
  const { content } = readDraft({ ...source, model: emptyModel });
  const answers = Object.keys(play.toolSettings).flatMap((name): [string, ToolAnswer][] => {
    const { policy, content: fixed, recorded } = settingOf(play, name);
    if (policy === "fixed") return [[name, { content: fixed }]];
    return policy === "recorded" && recorded.length > 0 ? [[name, { recorded }]] : [];
  });
  return {
    messages: content.messages,
    variables,
    tools: content.tools,
    ...(content.response_format ? { response_format: content.response_format } : {}),
    ...(answers.length > 0 ? { tool_answers: Object.fromEntries(answers) } : {}),
  };
}

/** The messages, tools, format and parameters of a prompt's version, to edit them here. */
export function withOwnMessages(play: Play, version: PromptVersion): Play {
  const draft = draftOf(version);
  return {
    ...play,
    prompt: null,
    messages: draft.messages,
    format: draft.format,
    tools: play.tools ?? draft.tools,
    responseFormat: play.responseFormat ?? draft.responseFormat,
    columns: play.columns.map((column) =>
      column.prompt === null
        ? { ...column, model: overlaid(reduced(draft.model, column.without), column.model) }
        : column,
    ),
    texts: {
      ...Object.fromEntries(
        draft.variables
          .map(({ name, default: standard, example }) => [name, example || standard] as const)
          .filter(([, text]) => text !== ""),
      ),
      ...play.texts,
    },
  };
}

/** A version of a prompt instead of the messages. Columns without a connection get its. */
export function withPrompt(play: Play, choice: NonNullable<Play["prompt"]>, version: PromptVersion): Play {
  const { provider_id: providerId = "" } = version.model_config;
  return {
    ...play,
    prompt: choice,
    tools: null,
    responseFormat: null,
    columns: play.columns.map((column) => ({ ...column, providerId: column.providerId || providerId })),
    scenario: null,
  };
}

/** The playground as it was kept by another page: ids are counted from the start of the page. */
export function withNewPlayIds(play: Play): Play {
  const fresh = <T extends { id: string }>(item: T): T => ({ ...item, id: newId() });
  return {
    ...play,
    messages: play.messages.map((message) =>
      fresh(message.kind === "parts" ? { ...message, parts: message.parts.map(fresh) } : message),
    ),
    tools: play.tools?.map(fresh) ?? null,
    columns: play.columns.map(fresh),
  };
}

/** The JSON of a value, as a text in a form. */
export function jsonText(value: unknown): string {
  return typeof value === "string" ? value : pretty(value);
}
