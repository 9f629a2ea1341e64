import { keepPreviousData, type QueryKey, useQuery } from "@tanstack/react-query";

/** What the API says to a draft that is still edited. Null has no request. The answer before stays until the next. */
export function useDraftQuery<Draft, Result>(
  queryKey: QueryKey,
  draft: Draft | null,
  read: (draft: Draft, signal: AbortSignal) => Promise<Result>,
  options: { structuralSharing?: boolean } = {},
) {
  return useQuery({
    ...options,
    queryKey,
    queryFn: ({ signal }) => read(draft as Draft, signal),
    enabled: draft !== null,
    placeholderData: draft === null ? undefined : keepPreviousData,
    // What is wrong stays wrong.
    retry: false,
    gcTime: 60_000,
  });
}
