import { useState } from "react";

/** The error of a query without data. It stays while the query is tried again, so that the page doesn't flicker. */
export function useLastingError({ data, error }: { data: unknown; error: Error | null }): Error | null {
  const [last, setLast] = useState(error);
  const now = data === undefined ? (error ?? last) : null;
  if (now !== last) setLast(now);
  return now;
}
