import { useQueries } from "@tanstack/react-query";
import { openedRunQuery } from "@/api/playground";
import { spanQuery } from "@/api/runs";
import type { Recorded } from "./recorded";
import { isModelCall, type RunStep } from "./steps";

/** What was recorded, and whether and why it isn't known yet. */
export interface Loaded {
  recorded: Recorded;
  isPending: boolean;
  error: Error | null;
}

const NOTHING: Recorded = { opened: null, span: null };

/** What was recorded of steps, in their order. */
export function useRecorded(
  projectId: string,
  runId: string,
  steps: readonly (RunStep | undefined)[],
): Loaded[] {
  const spanIds = steps.map((step) => step?.id);
  const opened = useQueries({
    queries: steps.map((step) => ({
      ...openedRunQuery({ runId, spanId: step?.id }),
      enabled: step !== undefined && isModelCall(step),
      staleTime: 60_000,
    })),
  });
  const spans = useQueries({
    queries: steps.map((step) => ({
      ...spanQuery(projectId, runId, step?.id),
      enabled: step !== undefined && !isModelCall(step),
    })),
  });
  return spanIds.map((id, index) => {
    const of = [opened[index], spans[index]];
    return {
      recorded:
        id === undefined
          ? NOTHING
          : { opened: opened[index]?.data ?? null, span: spans[index]?.data ?? null },
      isPending: of.some((query) => query?.isLoading),
      error: of.find((query) => query?.error)?.error ?? null,
    };
  });
}
