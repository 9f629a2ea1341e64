import type { components } from "./schema.gen";

/** An RFC 9457 problem as the API answers it. */
export type Problem = components["schemas"]["Problem"];

/** A request that was answered with a problem, or not at all (`status` 0). */
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

  /** The message for one field of the request body, such as `body.email`. */
  fieldMessage(location: string): string | undefined {
    return this.problem?.errors?.find((item) => item.location === location)?.message;
  }
}

/** Makes an error of an answer outside 2xx; `body` is what the client parsed, of whatever shape. */
export function errorFromResponse(response: Response, body: unknown): ApiError {
  const problem = isProblem(body) ? body : null;
  const seconds = Number(response.headers.get("Retry-After") ?? Number.NaN);
  return new ApiError(
    response.status,
    problem,
    Number.isFinite(seconds) ? seconds : null,
    problem?.title ?? `The server answered ${response.status}`,
  );
}

/** Makes an error of a request that got no answer. */
export function errorFromNetwork(cause: unknown): ApiError {
  const error = new ApiError(0, null, null, "The server did not answer");
  error.cause = cause;
  return error;
}

function isProblem(body: unknown): body is Problem {
  return typeof body === "object" && body !== null && "title" in body && "status" in body;
}
