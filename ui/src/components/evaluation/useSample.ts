import { useDatasetItems } from "@/api/datasets";
import type { DatasetItem } from "@/api/types";
import type { EvaluationDraft } from "./evaluationDraft";

/** The first items that would be evaluated. */
export function useSample({ dataset, revision, split }: EvaluationDraft): readonly DatasetItem[] {
  const items = useDatasetItems(
    dataset?.id ?? "",
    { revision: revision === "" ? undefined : Number(revision), split: split.trim() || undefined },
    dataset !== null,
  );
  return items.data?.pages[0]?.data ?? [];
}
