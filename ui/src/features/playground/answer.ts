import type { CompletionEvent } from "@/api/playground";
import type { Completion, PromptMessage } from "@/api/types";
import { isObject } from "@/components/json";

/** A call of a tool. `arguments` is JSON, as far as it arrived. */
export interface ToolCall {
  id: string;
  name: string;
  arguments: string;
}

/**
 * A message of the model, or the result of a tool. Texts are lists of pieces: only the last one grows, so that the page only
 * draws that one again.
 */
export type Turn =
  | { kind: "model"; reasoning: string[]; text: string[]; calls: ToolCall[]; isDone: boolean }
  | { kind: "tool"; callId: string; name: string; content: string };

/** What a column was answered so far. It never changes: each step makes a new one. */
export interface Answer {
  status: "running" | "done" | "stopped" | "failed";
  runId: string | null;
  turns: Turn[];
  /** The end of the last request. */
  completion: Completion | null;
  /** The messages and results after those of the request, for the next request. */
  following: PromptMessage[];
  error: Error | null;
}

export function beginning(): Answer {
  return { status: "running", runId: null, turns: [], completion: null, following: [], error: null };
}

/** A new request with results of tools. */
export function continued(answer: Answer, results: readonly Extract<Turn, { kind: "tool" }>[]): Answer {
  const messages = results.map(({ callId, content }) => ({ role: "tool", tool_call_id: callId, content }));
  return {
    ...answer,
    status: "running",
    runId: null,
    turns: [...answer.turns, ...results],
    completion: null,
    following: [...answer.following, ...messages],
    error: null,
  };
}

/** Pieces end at a line break after this many characters, or anywhere after four times as many. */
const PIECE = 2_000;

/** The pieces with more text. */
export function grow(pieces: readonly string[], text: string): string[] {
  if (text === "") return [...pieces];
  const next = [...pieces];
  let last = (next.pop() ?? "") + text;
  while (last.length > PIECE) {
    const line = last.indexOf("\n", PIECE);
    const end = line >= 0 && line < 4 * PIECE ? line + 1 : last.length > 4 * PIECE ? 4 * PIECE : -1;
    if (end < 0) break;
    next.push(last.slice(0, end));
    last = last.slice(end);
  }
  return last === "" ? next : [...next, last];
}

/** The answer after more events, in their order. */
export function reduce(answer: Answer, events: readonly CompletionEvent[]): Answer {
  return merged(events).reduce(step, answer);
}

/** The events with neighbouring pieces of one text joined. */
function merged(events: readonly CompletionEvent[]): CompletionEvent[] {
  const result: CompletionEvent[] = [];
  for (const event of events) {
    const last = result.at(-1);
    if (event.type === "delta" && last?.type === "delta" && !event.data.tool_call && !last.data.tool_call) {
      const isOneKind = (event.data.text ?? "") === "" ? !last.data.text : !last.data.reasoning;
      if (isOneKind) {
        const data = {
          text: (last.data.text ?? "") + (event.data.text ?? ""),
          reasoning: (last.data.reasoning ?? "") + (event.data.reasoning ?? ""),
        };
        result[result.length - 1] = { type: "delta", data };
        continue;
      }
    }
    result.push(event);
  }
  return result;
}

function step(answer: Answer, event: CompletionEvent): Answer {
  switch (event.type) {
    case "start":
      return { ...answer, runId: event.data.run_id };
    case "delta": {
      const { text = "", reasoning = "", tool_call: call } = event.data;
      return withOpenTurn(answer, (turn) => ({
        ...turn,
        reasoning: reasoning === "" ? turn.reasoning : grow(turn.reasoning, reasoning),
        text: text === "" ? turn.text : grow(turn.text, text),
        calls: call ? withCall(turn.calls, call) : turn.calls,
      }));
    }
    case "message":
      return withOpenTurn(answer, (turn) => turnOf(event.data, turn));
    case "tool_result": {
      const { tool_call_id: callId, name, content } = event.data;
      return { ...answer, turns: [...answer.turns, { kind: "tool", callId, name, content }] };
    }
    case "done": {
      const completion = event.data;
      const last = answer.turns.at(-1);
      // A server that sent no event for the last message. At a limit of money, results are the last.
      const isMissing =
        completion.added_messages.at(-1)?.role !== "tool" && (last?.kind !== "model" || !last.isDone);
      const complete = isMissing ? step(answer, { type: "message", data: completion.message }) : answer;
      return {
        ...complete,
        status: "done",
        runId: completion.run_id,
        completion,
        following: [...answer.following, ...completion.added_messages],
      };
    }
  }
}

type ModelTurn = Extract<Turn, { kind: "model" }>;

function withOpenTurn(answer: Answer, change: (turn: ModelTurn) => ModelTurn): Answer {
  const last = answer.turns.at(-1);
  if (last?.kind === "model" && !last.isDone) {
    return { ...answer, turns: answer.turns.with(-1, change(last)) };
  }
  const empty: ModelTurn = { kind: "model", reasoning: [], text: [], calls: [], isDone: false };
  return { ...answer, turns: [...answer.turns, change(empty)] };
}

function withCall(
  calls: readonly ToolCall[],
  { index, id, name, arguments: more }: { index: number; id?: string; name?: string; arguments?: string },
): ToolCall[] {
  const next = [...calls];
  while (next.length <= index) next.push({ id: "", name: "", arguments: "" });
  const known = next[index] as ToolCall;
  next[index] = { id: id || known.id, name: name || known.name, arguments: known.arguments + (more ?? "") };
  return next;
}

/** A finished message. Its text is kept as it was streamed, if it is the same. */
function turnOf(message: PromptMessage, streamed: ModelTurn): ModelTurn {
  const text = textOf(message);
  const reasoning = typeof message.reasoning_content === "string" ? message.reasoning_content : "";
  const same = (pieces: string[], whole: string) =>
    whole === "" || pieces.join("") === whole ? pieces : grow([], whole);
  return {
    kind: "model",
    reasoning: same(streamed.reasoning, reasoning),
    text: same(streamed.text, text),
    calls: callsOf(message) ?? streamed.calls,
    isDone: true,
  };
}

/** The text of a message. A refusal is text, too. */
export function textOf({ content, refusal }: PromptMessage): string {
  if (typeof content === "string" && content !== "") return content;
  if (Array.isArray(content)) {
    return content
      .map((part) => (isObject(part) && typeof part.text === "string" ? part.text : ""))
      .filter((text) => text !== "")
      .join("\n");
  }
  return typeof refusal === "string" ? refusal : "";
}

function callsOf({ tool_calls: calls }: PromptMessage): ToolCall[] | undefined {
  if (!Array.isArray(calls) || calls.length === 0) return undefined;
  return (calls as unknown[]).filter(isObject).map((call) => {
    const called = isObject(call.function) ? call.function : {};
    const text = (value: unknown) => (typeof value === "string" ? value : "");
    return { id: text(call.id), name: text(called.name), arguments: text(called.arguments) };
  });
}

/** The calls that wait for their results. */
export function pendingCalls({ turns, completion, status }: Answer): ToolCall[] {
  if (status !== "done" || completion?.stop_reason !== "tool_calls") return [];
  const last = turns.findLastIndex(({ kind }) => kind === "model");
  const turn = turns[last];
  if (turn?.kind !== "model") return [];
  const answered = new Set(
    turns.slice(last + 1).map((result) => (result.kind === "tool" ? result.callId : "")),
  );
  return turn.calls.filter(({ id }) => !answered.has(id));
}

/** The text of the last message; empty if there is none. */
export function lastText({ turns }: Answer): string {
  const last = turns.findLast((turn) => turn.kind === "model");
  return last?.kind === "model" ? last.text.join("") : "";
}
