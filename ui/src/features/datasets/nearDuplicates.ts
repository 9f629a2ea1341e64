import { parseJson } from "@/api/json";
import type { NearDuplicateCheck, NearDuplicateItem } from "@/api/types";
import { formatCount, formatCountOf } from "@/components/format";
import { formatItems } from "./revisions";

/** 0.8 as 80 %. It rounds down: only equal inputs are 100 % similar. */
export function formatSimilarity(similarity: number): string {
  return `${Math.floor(100 * similarity + 1e-9)}%`;
}

/** What a check does now: "12,000 of 100,000 items read". */
export function checkProgress({ status, phase, processed, total }: NearDuplicateCheck): string {
  if (status === "queued") return "Waiting for a free worker";
  if (phase === "comparing") return `Comparing ${formatItems(total)}`;
  return `${formatCount(processed)} of ${formatItems(total)} read`;
}

/** 1 pair, 2,000 pairs. */
export function formatPairs(count: number): string {
  return formatCountOf(count, "pair");
}

/** What a check that succeeded left out of its list and its counts. */
export function checkLimits(check: NearDuplicateCheck): string[] {
  const limits: string[] = [];
  const { items_without_text: empty, pairs_not_listed: hidden, items_partly_compared: crowded } = check;
  if (empty) limits.push(`${formatItems(empty)} without any text ${empty === 1 ? "was" : "were"} skipped.`);
  if (hidden)
    limits.push(
      `${formatPairs(hidden)} ${hidden === 1 ? "is" : "are"} counted but not listed: of equal inputs, each is shown with one or two others.`,
    );
  if (crowded)
    limits.push(
      `${formatItems(crowded)} had so many candidates that only some were compared, so there may be more pairs.`,
    );
  return limits;
}

/** The input of an item: the JSON value, or its text if that is not complete. */
export function inputOf({ input_preview: text, input_truncated: isCut }: NearDuplicateItem): unknown {
  return isCut ? `${text}…` : parseJson(text);
}
