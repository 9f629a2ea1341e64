import type { Message, MessagePart, Span } from "@/api/types";
import { parseTime } from "@/components/format";

/** One thing that was said or done in a run. */
export interface Turn {
  key: string;
  spanId: string;
  /** Who speaks: `system`, `user`, `assistant`, `tool`, or `agent` where one begins. */
  role: string;
  /** The span's name: the tool, the agent; for an assistant its model. */
  name: string;
  /** When, in milliseconds since the run's start. */
  at: number;
  parts: MessagePart[];
  failed: boolean;
  error: string | null;
}

/** What transcripts of earlier pages leave to the next one. */
export interface Heard {
  /** The conversations so far, each by the digests of what was said in it. */
  conversations: string[][];
  /** The calls whose results stand in the transcript as spans of tools. */
  calls: Set<string>;
  instructions: Set<string>;
}

export const nothingHeard = (): Heard => ({ conversations: [], calls: new Set(), instructions: new Set() });

/** So many conversations that go on side by side are told apart. */
const MOST_CONVERSATIONS = 50;

/**
 * Turns whole spans, in start order, into what was said, each message once: of a model call those that no earlier call of
 * the same conversation had. `heard` is changed, so that pages follow each other. A tool's result stands where the tool
 * ran, and not again in the message that tells the model.
 */
export function transcribe(spans: readonly Span[], heard: Heard, startedAt: number): Turn[] {
  const turns: Turn[] = [];
  for (const span of spans) {
    if (span.tool?.call_id) heard.calls.add(span.tool.call_id);
  }
  // Of those that begin together, what holds the others comes first.
  const inOrder = [...spans].sort(
    (a, b) => parseTime(a.start_time) - parseTime(b.start_time) || a.depth - b.depth,
  );
  for (const span of inOrder) {
    const start = parseTime(span.start_time) - startedAt;
    const base = { spanId: span.span_id, failed: false, error: null };
    let number = 0;
    const say = (turn: Omit<Turn, "key" | "spanId" | "failed" | "error"> & Partial<Turn>) =>
      turns.push({ ...base, key: `${span.span_id} ${number++}`, ...turn });
    const failure = {
      failed: span.status === "error",
      error: span.error ? [span.error.type, span.error.message].filter(Boolean).join(": ") || "failed" : null,
    };
    if (span.kind === "agent" || span.kind === "workflow") {
      say({ role: "agent", name: span.agent_name ?? span.name, at: start, parts: [], ...failure });
      continue;
    }
    const end = start + (span.duration_ms ?? 0);
    const input = span.input_messages ?? [];
    const output = span.output_messages ?? [];
    if (input.length + output.length > 0) {
      const instructions = span.system_instructions ?? [];
      const told = digestOfParts(instructions);
      if (instructions.length > 0 && !heard.instructions.has(told)) {
        heard.instructions.add(told);
        say({ role: "system", name: "", at: start, parts: instructions });
      }
      for (const message of newOf(input, output, heard)) {
        const parts = message.parts.filter((part) => !isKnownResult(part, heard.calls));
        if (parts.length > 0) say({ role: message.role, name: "", at: start, parts });
      }
      const model = span.response_model ?? span.request_model ?? span.name;
      for (const message of output)
        say({ role: message.role, name: model, at: end, parts: message.parts, ...failure });
      if (output.length === 0 && failure.failed) {
        say({ role: "assistant", name: model, at: end, parts: [], ...failure });
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
      say({ role: "tool", name: span.tool?.name ?? span.name, at: start, parts, ...failure });
      continue;
    }
    const isCall = span.kind === "llm";
    if (!isCall && span.inputs === null && span.outputs === null && !failure.failed) continue;
    if (span.inputs !== null) {
      say({
        role: isCall ? "user" : span.kind,
        name: isCall ? "" : span.name,
        at: start,
        parts: [textOf(span.inputs)],
      });
    }
    if (span.outputs !== null || failure.failed) {
      const parts = span.outputs === null ? [] : [textOf(span.outputs)];
      say({
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

/** Transcribes the pages of a run as they come: what was transcribed already is not read again. */
export function transcriber() {
  let done: { spans: readonly Span[]; turns: Turn[] }[] = [];
  let heard = nothingHeard();
  let start = 0;
  return (pages: readonly (readonly Span[])[], startedAt: number): Turn[] => {
    if (start !== startedAt || done.some(({ spans }, index) => spans !== pages[index])) {
      done = [];
      heard = nothingHeard();
      start = startedAt;
    }
    for (const spans of pages.slice(done.length))
      done.push({ spans, turns: transcribe(spans, heard, startedAt) });
    return done.flatMap(({ turns }) => turns);
  };
}

function textOf(content: string): MessagePart {
  return { type: "text", content };
}

function isKnownResult(part: MessagePart, calls: ReadonlySet<string>): boolean {
  return part.type === "tool_call_response" && typeof part.id === "string" && calls.has(part.id);
}

/** The input messages that go on the conversation which they share the most with; that one then ends with the output. */
function newOf(input: readonly Message[], output: readonly Message[], heard: Heard): readonly Message[] {
  const said = input.map(digest);
  let best: string[] | undefined;
  let shared = 0;
  for (const conversation of heard.conversations) {
    let length = 0;
    while (length < conversation.length && length < said.length && conversation[length] === said[length])
      length++;
    // One that is not gone on with to its end is another conversation that began the same way.
    if (length > shared || (length === shared && length === conversation.length)) {
      best = conversation;
      shared = length;
    }
  }
  const next = [...said, ...output.map(digest)];
  if (best && shared === best.length) heard.conversations.splice(heard.conversations.indexOf(best), 1, next);
  else heard.conversations.push(next);
  if (heard.conversations.length > MOST_CONVERSATIONS) heard.conversations.shift();
  return input.slice(shared);
}

function digest(message: Message): string {
  return `${message.role} ${digestOfParts(message.parts)}`;
}

/** Long texts, such as images, count by their length and ends. */
const LONG = 4_000;

function digestOfParts(parts: readonly MessagePart[]): string {
  return JSON.stringify(parts, (_, value) =>
    typeof value === "string" && value.length > LONG
      ? `${value.length} ${value.slice(0, 500)} ${value.slice(-500)}`
      : value,
  );
}
