import type { PlaygroundOpened, PromptMessage, PromptVersion, Span } from "@/api/types";
import { type DraftMessage, type DraftModel, draftOf, pretty } from "@/components/editor/draft";
import { isObject } from "@/components/json";
import type { EditDraft } from "./edits";

/** What was recorded of the step that an edit changes. Null where it isn't known. */
export interface Recorded {
  opened: PlaygroundOpened | null;
  span: Span | null;
}

/** The text of a message: its parts that are texts. */
function messageText({ content }: PromptMessage): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .flatMap((part) => (isObject(part) && typeof part.text === "string" ? [part.text] : []))
    .join("\n");
}

/** The recorded system prompt; null if there is none. */
function systemPrompt({ opened }: Recorded): string | null {
  const texts = (opened?.messages ?? [])
    .filter(({ role }) => role === "system" || role === "developer")
    .map(messageText);
  return texts.length > 0 ? texts.join("\n\n") : null;
}

/** The recorded first message of the user; null if there is none. */
function firstInput({ opened }: Recorded): string | null {
  const message = opened?.messages.find(({ role }) => role === "user");
  return message ? messageText(message) : null;
}

export function recordedModel({ opened, span }: Recorded): string {
  return opened?.model_config.model ?? span?.request_model ?? "";
}

/** The messages of a call, to edit them. */
export function draftMessages(messages: readonly PromptMessage[]): DraftMessage[] {
  return draft({ messages }).messages;
}

/** The parameters of a call, to edit them, without its model. */
export function recordedParams({ opened }: Recorded): DraftModel {
  const { model } = draft({ model_config: opened?.model_config ?? {} });
  return { ...model, model: "", providerId: "" };
}

function draft(parts: {
  messages?: readonly PromptMessage[];
  model_config?: PlaygroundOpened["model_config"];
}) {
  return draftOf({
    messages: parts.messages ?? [],
    tools: [],
    response_format: null,
    model_config: parts.model_config ?? {},
    variables: {},
    template_format: "none",
    missing: "error",
  } as unknown as PromptVersion);
}

/** The definitions of the tools that a call had, by name. */
export function definitionsOf({ opened }: Recorded): Map<string, string> {
  const all = (opened?.tools ?? []).flatMap((tool): [string, string][] => {
    const described = isObject(tool) && isObject(tool.function) ? tool.function : tool;
    return isObject(described) && typeof described.name === "string" ? [[described.name, pretty(tool)]] : [];
  });
  return new Map(all);
}

/** The recorded text that an edit replaces, as it is shown beside the new one; null if it isn't known. */
export function recordedText(edit: EditDraft, recorded: Recorded): string | null {
  const { opened, span } = recorded;
  switch (edit.change) {
    case "system_prompt":
      return systemPrompt(recorded);
    case "input":
      return firstInput(recorded);
    case "tool_result":
      return span?.tool?.result ?? null;
    case "messages":
      return opened ? opened.messages.map((message) => textOf(message) ?? "").join("\n\n") : null;
    case "response":
      return textOf(opened?.output ?? undefined);
    default:
      return null;
  }
}

/** A message as text: its role, its text, and its other members as JSON. */
export function textOf(message: PromptMessage | undefined): string | null {
  if (!message) return null;
  const { role, content, ...others } = message;
  const text = typeof content === "string" || content == null ? (content ?? "") : pretty(content);
  const rest = Object.entries(others).filter(([, value]) => value != null);
  return [
    `${role ?? "no role"}: ${text}`,
    ...(rest.length > 0 ? [pretty(Object.fromEntries(rest))] : []),
  ].join("\n");
}
