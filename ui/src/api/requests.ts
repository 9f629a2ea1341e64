import { answerSeconds, changeSeconds, readSeconds } from "./answers.gen";
import { sessionHeaders } from "./session";

/** How long an answer may be on its way, beside the time in which the server begins it, in ms. */
const MARGIN_MS = 2_000;
/** How long to wait for the operation that shows whether the server answers at all. */
const PROBE = "GET /v1/me";
const PROBE_MS = 8_000;
/** How long an answer that has begun may take to arrive. */
const BODY_MS = 120_000;

/** The operations of requests, such as "GET /v1/runs/{run_id}". */
const operations = new WeakMap<Request, string>();
/** The timers of answers that have begun. */
const arriving = new WeakMap<Response, ReturnType<typeof setTimeout>>();

/** Notes the operation of a request by its path in the API's contract, which says how long the server may take. */
export function noteOperation(request: Request, schemaPath: string): void {
  operations.set(request, `${request.method} ${schemaPath}`);
}

/** Notes that an answer has arrived as a whole. */
export function noteArrival(response: Response): void {
  clearTimeout(arriving.get(response));
}

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

/** For how long a request has waited for the server, or has had nothing to say, in ms. */
export function silence(): { waiting: number; idle: number } {
  const now = Date.now();
  const unanswered = [...contact.waiting].map(({ since }) => since).filter((since) => since > contact.last);
  return { waiting: unanswered.length > 0 ? now - Math.min(...unanswered) : 0, idle: now - contact.last };
}

/** How long to wait until the answer to a request begins, in ms; null for as long as it takes. */
function deadlineOf(request: Request): number | null {
  const operation = operations.get(request) ?? request.method;
  if (operation === PROBE) return PROBE_MS;
  const { [operation]: seconds = request.method === "GET" ? readSeconds : changeSeconds } = answerSeconds;
  return seconds === null ? null : seconds * 1000 + MARGIN_MS;
}

/** Fetches in the session, with a deadline, which depends on the operation. Missing it is a TimeoutError. */
export async function fetchInTime(request: Request): Promise<Response> {
  for (const [name, value] of Object.entries(sessionHeaders())) request.headers.set(name, value);
  const limit = deadlineOf(request);
  const deadline = new AbortController();
  const end = () => deadline.abort(new DOMException("no answer in time", "TimeoutError"));
  const timer = limit === null ? undefined : setTimeout(end, limit);
  const waiting = { since: Date.now() };
  contact.waiting.add(waiting);
  try {
    const response = await fetch(request, { signal: AbortSignal.any([request.signal, deadline.signal]) });
    noteAnswer();
    if (limit !== null) arriving.set(response, setTimeout(end, BODY_MS));
    return response;
  } finally {
    contact.waiting.delete(waiting);
    clearTimeout(timer);
  }
}
