import { useEffect, useState, useSyncExternalStore } from "react";
import { type CompletionDraft, type CompletionEvent, streamCompletion } from "@/api/playground";
import { type Answer, beginning, continued, reduce, type Turn } from "./answer";

/** Events are applied this often at most: faster than anyone reads. */
const FLUSH_MS = 50;
/** Without frames, as in a hidden tab, events are applied this often. */
const HIDDEN_MS = 250;

/**
 * The answers of the columns while they arrive. The events of all of them are applied together, in a frame: fast streams must
 * not keep the page from answering.
 */
export class LiveAnswers {
  private readonly answers = new Map<string, Answer>();
  private readonly requests = new Map<string, AbortController>();
  private readonly events = new Map<string, CompletionEvent[]>();
  private readonly listeners = new Set<() => void>();
  private cancelFlush: (() => void) | null = null;
  private flushedAt = 0;

  /** `onEnd` is called when a request has ended, however it did. */
  constructor(private readonly onEnd: () => void) {}

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  get(column: string): Answer | undefined {
    return this.answers.get(column);
  }

  /** How many requests are under way. */
  get running(): number {
    return this.requests.size;
  }

  /** Starts a request, instead of the column's last answer. */
  start(column: string, draft: CompletionDraft): void {
    this.stop(column);
    this.answers.set(column, beginning());
    void this.request(column, draft);
  }

  /** Sends results of tools. */
  resume(column: string, draft: CompletionDraft, results: readonly Extract<Turn, { kind: "tool" }>[]): void {
    const answer = this.answers.get(column);
    if (!answer || this.requests.has(column)) return;
    this.answers.set(column, continued(answer, results));
    void this.request(column, draft);
  }

  /** Ends a request, and with it the provider's. What arrived stays. */
  stop(column: string): void {
    const request = this.requests.get(column);
    if (!request) return;
    request.abort();
    this.end(column, request, (answer) => ({ ...answer, status: "stopped" }));
  }

  stopAll(): void {
    for (const column of [...this.requests.keys()]) this.stop(column);
  }

  /** Removes the answer of a column. */
  forget(column: string): void {
    this.stop(column);
    if (this.answers.delete(column)) this.notify();
  }

  private async request(column: string, draft: CompletionDraft): Promise<void> {
    const request = new AbortController();
    this.requests.set(column, request);
    this.notify();
    try {
      await streamCompletion(draft, request.signal, (event) => {
        if (request.signal.aborted) return;
        const waiting = this.events.get(column);
        if (waiting) waiting.push(event);
        else this.events.set(column, [event]);
        this.schedule();
      });
      this.end(column, request, (answer) => answer);
    } catch (error) {
      this.end(column, request, (answer) => ({ ...answer, status: "failed", error: error as Error }));
    }
  }

  private end(column: string, request: AbortController, change: (answer: Answer) => Answer): void {
    // A stopped request ends again when its stream notices.
    if (this.requests.get(column) !== request) return;
    this.apply(column);
    this.requests.delete(column);
    const answer = this.answers.get(column);
    if (answer) this.answers.set(column, change(answer));
    this.notify();
    this.onEnd();
  }

  private schedule(): void {
    if (this.cancelFlush) return;
    const flush = () => {
      this.cancelFlush?.();
      this.cancelFlush = null;
      for (const column of [...this.events.keys()]) this.apply(column);
      this.notify();
      this.flushedAt = performance.now();
    };
    let frame = 0;
    const wait = Math.max(0, this.flushedAt + FLUSH_MS - performance.now());
    const soon = setTimeout(() => {
      frame = requestAnimationFrame(flush);
    }, wait);
    const late = setTimeout(flush, HIDDEN_MS);
    this.cancelFlush = () => {
      clearTimeout(soon);
      clearTimeout(late);
      cancelAnimationFrame(frame);
    };
  }

  private apply(column: string): void {
    const events = this.events.get(column);
    const answer = this.answers.get(column);
    this.events.delete(column);
    if (events && answer) this.answers.set(column, reduce(answer, events));
  }

  private notify(): void {
    for (const listener of this.listeners) listener();
  }
}

/** The answers of a page. Leaving it stops them. */
export function useLiveAnswers(onEnd: () => void): LiveAnswers {
  const [live] = useState(() => new LiveAnswers(onEnd));
  useEffect(() => () => live.stopAll(), [live]);
  return live;
}

/** The answer of a column; undefined if it has none. */
export function useAnswer(live: LiveAnswers, column: string): Answer | undefined {
  return useSyncExternalStore(live.subscribe, () => live.get(column));
}

/** How many requests are under way. */
export function useRunning(live: LiveAnswers): number {
  return useSyncExternalStore(live.subscribe, () => live.running);
}
