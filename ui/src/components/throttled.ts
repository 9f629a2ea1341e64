import { ApiError } from "@/api/problem";

/** Says how long to wait if the server throttles attempts to enter a password. Other errors stay as they are. */
export function withWait(error: Error): Error {
  if (!(error instanceof ApiError) || error.status !== 429 || error.retryAfterSeconds === null) return error;
  const seconds = error.retryAfterSeconds;
  return new ApiError(
    429,
    error.problem,
    seconds,
    `Too many attempts. Try again in ${seconds === 1 ? "a second" : `${seconds} seconds`}`,
  );
}
