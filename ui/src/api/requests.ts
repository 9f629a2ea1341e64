import { sessionHeaders } from "./session";

/** How long the server may take to begin its answer to a read, in ms. A store that hangs is reported within 10 s. */
const READ_MS = 12_000;
/** The same for reads that the server bounds itself, because they may have to look through everything. */
const LONG_READ_MS = 35_000;
/** The same for GET /v1/me, which shows whether the server answers at all. */
const PROBE_MS = 8_000;
/** The same for changes. The server ends those that have no longer time of their own after a minute. */
const CHANGE_MS = 70_000;
/** How long an answer that has begun may take to arrive. */
const BODY_MS = 120_000;

/** Searches, statistics, comparisons of contents, and the models of a provider. */
const LONG_READS =
  /^\/v1\/(runs\/(stats|fields|[^/]+\/(diff|agent-view))|failures|threads|agent|diff)|\/(usage|near-duplicates|models|diff|preview)\b|[?&]search=/;
/** Changes that may take many minutes: the reader watches them, and can leave. */
const LONG_CHANGES = /^\/v1\/(playground\/completions|judges\/|samples|providers\/)|\/imports\b|preview/;

/** When the server last sent anything, and since when each request waits for it, in ms since 1970. */
const contact = { last: Date.now(), waiting: new Set<{ since: number }>() };

/** Notes that something arrived from the server. */
export function noteAnswer(): void {
  contact.last = Date.now();
}

/** Notes that a connection to the server was lost. */
export function noteLoss(): void {
  contact.last = 0;
}

/** For how long the server has owed an answer, or has had nothing to say, in ms. */
export function silence(): { owed: number; idle: number } {
  const now = Date.now();
  const unanswered = [...contact.waiting].map(({ since }) => since).filter((since) => since > contact.last);
  return { owed: unanswered.length > 0 ? now - Math.min(...unanswered) : 0, idle: now - contact.last };
}

function deadlineOf(method: string, url: string): number | null {
  const { pathname, search } = new URL(url, "http://looptrace");
  const path = pathname + search;
  if (method === "GET") {
    if (pathname === "/v1/me") return PROBE_MS;
    return LONG_READS.test(path) ? LONG_READ_MS : READ_MS;
  }
  return method === "DELETE" || LONG_CHANGES.test(path) ? null : CHANGE_MS;
}

/** Fetches in the session, with a deadline, which depends on the request. Missing it is a TimeoutError. */
export async function fetchInTime(request: Request): Promise<Response> {
  for (const [name, value] of Object.entries(sessionHeaders())) request.headers.set(name, value);
  const limit = deadlineOf(request.method, request.url);
  const deadline = new AbortController();
  const end = () => deadline.abort(new DOMException("no answer in time", "TimeoutError"));
  const timer = limit === null ? undefined : setTimeout(end, limit);
  const waiting = { since: Date.now() };
  contact.waiting.add(waiting);
  try {
    const response = await fetch(request, { signal: AbortSignal.any([request.signal, deadline.signal]) });
    noteAnswer();
    if (limit !== null) setTimeout(end, BODY_MS);
    return response;
  } finally {
    contact.waiting.delete(waiting);
    clearTimeout(timer);
  }
}
