import type { Message, MessagePart, Span } from "@/api/types";
import { parseTime } from "@/components/format";

/** One message or action of a run. */
export interface Turn {
  key: string;
  spanId: string;
  /** `system`, `user`, `assistant`, `tool`, or `agent` when one starts. */
  role: string;
  /** The tool, the agent, or the assistant's model. */
  name: string;
  /** Milliseconds since the run's start. */
  at: number;
  parts: MessagePart[];
  failed: boolean;
  error: string | null;
}

/** What earlier pages have shown already. */
export interface Shown {
  /** The conversations so far, each as the digests of its messages. */
  conversations: string[][];
  /** The tool calls whose results appear as tool spans. */
  calls: Set<string>;
  instructions: Set<string>;
}

export const nothingShown = (): Shown => ({ conversations: [], calls: new Set(), instructions: new Set() });

/** At most this many parallel conversations are tracked. */
const MAX_CONVERSATIONS = 50;

/**
 * Turns a page of spans, in start order, into turns. Model calls repeat their conversation: each message is shown once.
 * A tool's result is shown where the tool ran, not again in the message to the model. Updates `shown` for the next page.
 */
export function transcribe(spans: readonly Span[], shown: Shown, startedAt: number): Turn[] {
  const turns: Turn[] = [];
  for (const span of spans) {
    if (span.tool?.call_id) shown.calls.add(span.tool.call_id);
  }
  // Parents come before children that start at the same time.
  const inOrder = [...spans].sort(
    (a, b) => parseTime(a.start_time) - parseTime(b.start_time) || a.depth - b.depth,
  );
  for (const span of inOrder) {
    const start = parseTime(span.start_time) - startedAt;
    const base = { spanId: span.span_id, failed: false, error: null };
    let number = 0;
    const add = (turn: Omit<Turn, "key" | "spanId" | "failed" | "error"> & Partial<Turn>) =>
      turns.push({ ...base, key: `${span.span_id} ${number++}`, ...turn });
    const failure = {
      failed: span.status === "error",
      error: span.error ? [span.error.type, span.error.message].filter(Boolean).join(": ") || "failed" : null,
    };
    if (span.kind === "agent" || span.kind === "workflow") {
      add({ role: "agent", name: span.agent_name ?? span.name, at: start, parts: [], ...failure });
      continue;
    }
    const end = start + (span.duration_ms ?? 0);
    const input = span.input_messages ?? [];
    const output = span.output_messages ?? [];
    if (input.length + output.length > 0) {
      const instructions = span.system_instructions ?? [];
      const key = digestOfParts(instructions);
      if (instructions.length > 0 && !shown.instructions.has(key)) {
        shown.instructions.add(key);
        add({ role: "system", name: "", at: start, parts: instructions });
      }
      for (const message of newMessages(input, output, shown)) {
        const parts = message.parts.filter((part) => !isKnownResult(part, shown.calls));
        if (parts.length > 0) add({ role: message.role, name: "", at: start, parts });
      }
      const model = span.response_model ?? span.request_model ?? span.name;
      for (const message of output)
        add({ role: message.role, name: model, at: end, parts: message.parts, ...failure });
      if (output.length === 0 && failure.failed) {
        add({ role: "assistant", name: model, at: end, parts: [], ...failure });
      }
      continue;
    }
    if (span.kind === "tool") {
      const parts: MessagePart[] = [];
      if (span.tool?.arguments) {
        parts.push({ type: "tool_call", name: span.tool.name ?? span.name, arguments: span.tool.arguments });
      }
      if (span.tool?.result ?? span.outputs) {
        parts.push({ type: "tool_call_response", response: span.tool?.result ?? span.outputs });
      }
      add({ role: "tool", name: span.tool?.name ?? span.name, at: start, parts, ...failure });
      continue;
    }
    const isCall = span.kind === "llm";
    if (!isCall && span.inputs === null && span.outputs === null && !failure.failed) continue;
    if (span.inputs !== null) {
      add({
        role: isCall ? "user" : span.kind,
        name: isCall ? "" : span.name,
        at: start,
        parts: [textOf(span.inputs)],
      });
    }
    if (span.outputs !== null || failure.failed) {
      const parts = span.outputs === null ? [] : [textOf(span.outputs)];
      add({
        role: isCall ? "assistant" : span.kind,
        name: span.response_model ?? span.name,
        at: end,
        parts,
        ...failure,
      });
    }
  }
  return turns;
}

/** Transcribes the pages of a run as they load, each page once. */
export function transcriber() {
  let done: { spans: readonly Span[]; turns: Turn[] }[] = [];
  let shown = nothingShown();
  let start = 0;
  return (pages: readonly (readonly Span[])[], startedAt: number): Turn[] => {
    if (start !== startedAt || done.some(({ spans }, index) => spans !== pages[index])) {
      done = [];
      shown = nothingShown();
      start = startedAt;
    }
    for (const spans of pages.slice(done.length))
      done.push({ spans, turns: transcribe(spans, shown, startedAt) });
    return done.flatMap(({ turns }) => turns);
  };
}

function textOf(content: string): MessagePart {
  return { type: "text", content };
}

function isKnownResult(part: MessagePart, calls: ReadonlySet<string>): boolean {
  return part.type === "tool_call_response" && typeof part.id === "string" && calls.has(part.id);
}

/** The input messages that are new in their conversation: the one with the longest common beginning. Adds the output to it. */
function newMessages(
  input: readonly Message[],
  output: readonly Message[],
  shown: Shown,
): readonly Message[] {
  const digests = input.map(digest);
  let best: string[] | undefined;
  let shared = 0;
  for (const conversation of shown.conversations) {
    let length = 0;
    while (
      length < conversation.length &&
      length < digests.length &&
      conversation[length] === digests[length]
    )
      length++;
    // A conversation that is only partly shared is a different one with the same beginning.
    if (length > shared || (length === shared && length === conversation.length)) {
      best = conversation;
      shared = length;
    }
  }
  const next = [...digests, ...output.map(digest)];
  if (best && shared === best.length) shown.conversations.splice(shown.conversations.indexOf(best), 1, next);
  else shown.conversations.push(next);
  if (shown.conversations.length > MAX_CONVERSATIONS) shown.conversations.shift();
  return input.slice(shared);
}

function digest(message: Message): string {
  return `${message.role} ${digestOfParts(message.parts)}`;
}

/** Longer texts, such as images, are identified by their length, start and end. */
const MAX_DIGESTED = 4_000;

function digestOfParts(parts: readonly MessagePart[]): string {
  return JSON.stringify(parts, (_, value) =>
    typeof value === "string" && value.length > MAX_DIGESTED
      ? `${value.length} ${value.slice(0, 500)} ${value.slice(-500)}`
      : value,
  );
}
