import { keepPreviousData, type QueryKey, useInfiniteQuery } from "@tanstack/react-query";

/** What offset paging needs to know of a page. */
interface Page<Row> {
  data: Row[];
  offset: number;
  has_more: boolean;
}

/** The offset of the page after this one; undefined if it is the last. */
export const nextOffset = (page: Page<unknown>) =>
  page.has_more ? page.offset + page.data.length : undefined;

/** How many items a page of a comparison or an eval-run has. */
export const ITEMS_PAGE = 50;

/** Rows that change by themselves: which ones still do, and how often they are read, in ms. */
interface Polling<Row> {
  isOpen: (row: Row) => boolean;
  every: number;
}

/** A list, page by page. Its rows stay until those of another selection are there. */
export function useListPages<Row, Result extends Page<Row>>(
  queryKey: QueryKey,
  read: (offset: number, signal: AbortSignal) => Promise<Result & Page<Row>>,
  polling?: Polling<Row>,
) {
  return useInfiniteQuery({
    queryKey,
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) => read(pageParam, signal),
    getNextPageParam: nextOffset,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state: { data } }) =>
      polling !== undefined && data?.pages.some((page) => page.data.some((row) => polling.isOpen(row)))
        ? polling.every
        : false,
  });
}
