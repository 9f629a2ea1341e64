import type { components } from "./schema.gen";

/** The API's RFC 9457 problem. */
export type Problem = components["schemas"]["Problem"];

/** A failed request. `status` is 0 when no response arrived. */
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
    problem?.title ?? `The server responded with ${response.status}`,
  );
}

/** The error for a request without a response. */
export function errorFromNetwork(cause: unknown): ApiError {
  const error = new ApiError(0, null, null, "The server didn't respond");
  error.cause = cause;
  return error;
}

function isProblem(body: unknown): body is Problem {
  return typeof body === "object" && body !== null && "title" in body && "status" in body;
}
