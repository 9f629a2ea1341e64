import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { client, unwrap } from "./client";
import { isFinished } from "./imports";
import { useInvalidatingMutation } from "./mutation";
import { nextOffset } from "./paging";
import { keys } from "./queryKeys";

/** A pair has both its inputs, and shows what differs. */
const PAGE = 50;
/** How often a check that runs is read, in ms. Nothing is read while the page is hidden. */
const POLL = 1_000;

/** GET /v1/datasets/{dataset_id}/near-duplicates: the check that was started last, with its pairs page by page. */
export function useNearDuplicates(datasetId: string, acrossSplits: true | undefined) {
  return useInfiniteQuery({
    queryKey: keys.dataset.nearDuplicatePairs(datasetId, acrossSplits),
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      unwrap(
        client.GET("/v1/datasets/{dataset_id}/near-duplicates", {
          params: {
            path: { dataset_id: datasetId },
            query: { across_splits: acrossSplits, limit: PAGE, offset: pageParam },
          },
          signal,
        }),
      ),
    getNextPageParam: nextOffset,
    refetchInterval: ({ state }) => {
      const check = state.data?.pages[0]?.check;
      return check && !isFinished(check) ? POLL : false;
    },
    placeholderData: keepPreviousData,
  });
}

/** POST /v1/datasets/{dataset_id}/near-duplicates/_actions/check, of the newest revision. */
export function useCheckNearDuplicates(datasetId: string) {
  return useInvalidatingMutation({ all: [keys.dataset.nearDuplicates(datasetId)] }, () =>
    unwrap(
      client.POST("/v1/datasets/{dataset_id}/near-duplicates/_actions/check", {
        params: { path: { dataset_id: datasetId } },
        body: {},
      }),
    ),
  );
}

/** POST /v1/datasets/{dataset_id}/near-duplicates/_actions/cancel. */
export function useCancelNearDuplicateCheck(datasetId: string) {
  return useInvalidatingMutation({ all: [keys.dataset.nearDuplicates(datasetId)] }, () =>
    unwrap(
      client.POST("/v1/datasets/{dataset_id}/near-duplicates/_actions/cancel", {
        params: { path: { dataset_id: datasetId } },
      }),
    ),
  );
}
