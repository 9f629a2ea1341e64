import type { Message, MessagePart, Span } from "@/api/types";
import { parseTime } from "@/components/format";
import { parseStructured } from "@/components/json";
import { asText } from "./parts";

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
  /** The tools that the message calls, if their arguments are shown where they ran. */
  calls: string[];
  /** What the model call used, at its last turn; null at others. */
  usage: TurnUsage | null;
  failed: boolean;
  error: string | null;
}

/** Tokens and dollars of a model call; null if unknown. */
export interface TurnUsage {
  input: number | null;
  output: number | null;
  cost: number | null;
  /** False if other spans report the same tokens. */
  counted: boolean;
}

/** What earlier pages have shown already. */
export interface Shown {
  /** The conversations so far, each as the digests of its messages. */
  conversations: string[][];
  /** The tool calls whose results appear as tool spans. */
  calls: Set<string>;
  /** The tool spans with arguments, by `callKey`. Those without a call id are counted down by the messages that call them. */
  ran: Map<string, number>;
  /** The tool calls that a message shows with arguments and that haven't run yet, by `callKey`. */
  said: Map<string, number>;
  instructions: Set<string>;
}

export const nothingShown = (): Shown => ({
  conversations: [],
  calls: new Set(),
  ran: new Map(),
  said: new Map(),
  instructions: new Set(),
});

/** At most this many parallel conversations are tracked. */
const MAX_CONVERSATIONS = 50;

/**
 * Turns a page of spans, in start order, into turns. Model calls repeat their conversation: each message is shown once.
 * A tool's arguments and result are shown where the tool ran, not again in the messages from and to the model. Updates `shown`
 * for the next page.
 */
export function transcribe(spans: readonly Span[], shown: Shown, startedAt: number): Turn[] {
  const turns: Turn[] = [];
  const saidBefore = new Set<string>();
  for (const span of spans) {
    if (span.tool?.call_id) shown.calls.add(span.tool.call_id);
    if (span.kind !== "tool" || !span.tool?.arguments) continue;
    const key = callKey(span.tool.call_id, span.tool.name ?? span.name, span.tool.arguments);
    // A message on an earlier page may show it already.
    if (take(shown.said, key)) saidBefore.add(span.span_id);
    else shown.ran.set(key, (shown.ran.get(key) ?? 0) + 1);
  }
  // Parents come before children that start at the same time.
  const inOrder = [...spans].sort(
    (a, b) => parseTime(a.start_time) - parseTime(b.start_time) || a.depth - b.depth,
  );
  for (const span of inOrder) {
    const before = turns.length;
    transcribeSpan(span, shown, startedAt, saidBefore, turns);
    const last = turns.at(-1);
    if (last && turns.length > before && span.kind === "llm") last.usage = usageOf(span);
  }
  return turns;
}

function transcribeSpan(
  span: Span,
  shown: Shown,
  startedAt: number,
  saidBefore: ReadonlySet<string>,
  turns: Turn[],
): void {
  const start = parseTime(span.start_time) - startedAt;
  const base = { spanId: span.span_id, calls: [], usage: null, failed: false, error: null };
  let number = 0;
  const add = (turn: Pick<Turn, "role" | "name" | "at" | "parts"> & Partial<Turn>) =>
    turns.push({ ...base, key: `${span.span_id} ${number++}`, ...turn });
  const failure = {
    failed: span.status === "error",
    error: span.error ? [span.error.type, span.error.message].filter(Boolean).join(": ") || "failed" : null,
  };
  if (span.kind === "agent" || span.kind === "workflow") {
    add({ role: "agent", name: span.agent_name ?? span.name, at: start, parts: [], ...failure });
    return;
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
      const unknown = message.parts.filter((part) => !isKnownResult(part, shown.calls));
      const { parts, calls } = withoutArguments(unknown, shown);
      if (parts.length + calls.length > 0) add({ role: message.role, name: "", at: start, parts, calls });
    }
    const model = span.response_model ?? span.request_model ?? span.name;
    for (const message of output)
      add({
        role: message.role,
        name: model,
        at: end,
        ...withoutArguments(message.parts, shown),
        ...failure,
      });
    if (output.length === 0 && failure.failed) {
      add({ role: "assistant", name: model, at: end, parts: [], ...failure });
    }
    return;
  }
  if (span.kind === "tool") {
    const name = span.tool?.name ?? span.name;
    const parts: MessagePart[] = [];
    const args = span.tool?.arguments;
    if (args && !saidBefore.has(span.span_id)) {
      parts.push({ type: "tool_call", name, arguments: args });
    }
    if (span.tool?.result ?? span.outputs) {
      parts.push({ type: "tool_call_response", response: span.tool?.result ?? span.outputs });
    }
    add({ role: "tool", name, at: start, parts, ...failure });
    return;
  }
  const isCall = span.kind === "llm";
  if (!isCall && span.inputs === null && span.outputs === null && !failure.failed) return;
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

function usageOf({ usage, cost_usd, usage_counted }: Span): TurnUsage {
  return {
    input: usage?.input_tokens ?? null,
    output: usage?.output_tokens ?? null,
    cost: cost_usd,
    counted: usage_counted,
  };
}

function isId(id: unknown): boolean {
  return typeof id === "string" && id !== "";
}

/** Identifies a tool call: by its id, or else by its name and arguments. */
function callKey(id: unknown, name: unknown, args: unknown): string {
  if (isId(id)) return `id ${id}`;
  const value = typeof args === "string" ? (parseStructured(args) ?? args) : args;
  return `call ${asText(name)} ${asText(value)}`;
}

/** Counts one down, if there is one. */
function take(counts: Map<string, number>, key: string): boolean {
  const count = counts.get(key);
  if (count === undefined) return false;
  if (count > 1) counts.set(key, count - 1);
  else counts.delete(key);
  return true;
}

/** The parts of a message without the tool calls that are shown where they ran, and the names of those. */
function withoutArguments(
  all: readonly MessagePart[],
  shown: Shown,
): { parts: MessagePart[]; calls: string[] } {
  const parts: MessagePart[] = [];
  const calls: string[] = [];
  for (const part of all) {
    const key = part.type === "tool_call" ? callKey(part.id, part.name, part.arguments) : undefined;
    // A call with an id may be repeated in other conversations. Without one, each is another call.
    if (key !== undefined && (isId(part.id) ? shown.ran.has(key) : take(shown.ran, key))) {
      calls.push(asText(part.name) || "unnamed");
      continue;
    }
    if (key !== undefined) shown.said.set(key, isId(part.id) ? 1 : (shown.said.get(key) ?? 0) + 1);
    parts.push(part);
  }
  return { parts, calls };
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
