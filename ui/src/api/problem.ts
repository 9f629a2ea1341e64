import { titleOf } from "./problemTitles";
import type { components } from "./schema.gen";

/** The API's RFC 9457 problem. */
export type Problem = components["schemas"]["Problem"];

/** A failed request. `status` is 0 when no response arrived. The message says what failed, in a few words. */
export class ApiError extends Error {
  override readonly name = "ApiError";

  constructor(
    readonly status: number,
    readonly problem: Problem | null,
    readonly retryAfterSeconds: number | null,
    message: string,
  ) {
    super(message);
  }

  /** The message for one field of the request body, for example `body.email`. */
  fieldMessage(location: string): string | undefined {
    return this.problem?.errors?.find((item) => item.location === location)?.message;
  }
}

/** The error for a response outside 2xx. `body` is the parsed body, in any shape. */
export function errorFromResponse(response: Response, body: unknown): ApiError {
  const problem = isProblem(body) ? body : null;
  const seconds = Number(response.headers.get("Retry-After") ?? Number.NaN);
  return new ApiError(
    response.status,
    problem,
    Number.isFinite(seconds) ? seconds : null,
    problem ? titleOf(problem) : `The server responded with ${response.status}`,
  );
}

/** The error for a problem that arrived in a stream. */
export function errorFromProblem(problem: Problem): ApiError {
  return new ApiError(problem.status, problem, null, titleOf(problem));
}

/** The error for a request without a response, or with one that broke off. */
export function errorFromNetwork(cause: unknown): ApiError {
  const isLate = cause instanceof DOMException && cause.name === "TimeoutError";
  const error = new ApiError(
    0,
    null,
    null,
    isLate ? "The server isn't answering" : "The server didn't respond",
  );
  error.cause = cause;
  return error;
}

/** Whether a request failed because the server, or a part of it, is away: the same request succeeds when that is back. */
export function isOutage(error: unknown): error is ApiError {
  if (!(error instanceof ApiError)) return false;
  if (error.status === 0 || error.status === 502 || error.status === 504) return true;
  // Without Retry-After the request itself is too much.
  return error.status === 503 && error.retryAfterSeconds !== null;
}

/** Whether what was asked for does not exist, or was deleted. */
export function isMissing(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}

/** Whether the server took the request and did not answer in time, or web has found that it does not. */
export function isSilence(error: ApiError): boolean {
  if (error.problem?.code === "upstream_silent") return true;
  return error.status === 0 && error.cause instanceof DOMException && error.cause.name === "TimeoutError";
}

/** Why a request failed, in one line. */
export function whyOf(error: Error): string {
  const problem = error instanceof ApiError ? error.problem : null;
  const fields = problem?.code === "validation_failed" ? (problem.errors ?? []) : [];
  if (fields.length > 0) return fields.map(({ location, message }) => `${location} ${message}`).join("; ");
  return problem?.detail || error.message;
}

function isProblem(body: unknown): body is Problem {
  return typeof body === "object" && body !== null && "title" in body && "status" in body;
}
