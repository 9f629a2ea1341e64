import type { EvaluationItemStatus } from "@/api/types";
import { placeNumber } from "@/components/evaluation/items";
import { ITEM_STATUSES } from "@/components/evaluation/progress";

/** Where the reader is among the items of an eval-run. */
export interface ItemsPlace {
  status: EvaluationItemStatus | undefined;
  /** The panel whose splits are listed; undefined for all items. */
  split: string | undefined;
  /** Whether the items come in the order in which people label: a random one. */
  isRandom: boolean;
  /** From 1. */
  page: number;
  /** An id, or empty. */
  item: string;
  /** From 1. */
  repeat: number;
  /** The panel that labels are for; empty for the first. */
  panel: string;
  /** Whether votes are hidden until the reader has labelled. */
  isBlind: boolean;
}

/** The place in an address. What it doesn't know is ignored. */
export function readItemsPlace(params: URLSearchParams): ItemsPlace {
  const status = params.get("status") ?? "";
  return {
    status: Object.hasOwn(ITEM_STATUSES, status) ? (status as EvaluationItemStatus) : undefined,
    split: params.get("split") || undefined,
    isRandom: params.get("order") === "random",
    page: placeNumber(params.get("page")),
    item: params.get("item") ?? "",
    repeat: placeNumber(params.get("repeat")),
    panel: params.get("panel") ?? "",
    isBlind: params.get("blind") === "1",
  };
}
