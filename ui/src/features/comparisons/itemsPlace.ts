import type { ComparisonItemSelection, EvaluationOutcome } from "@/api/types";
import { placeNumber } from "@/components/evaluation/items";
import { ITEM_STATUSES, OUTCOMES } from "@/components/evaluation/progress";

/** Where outputs are labelled: in random order, without the sides. */
export const LABELS_AT = "?tab=items&blind=1&order=random";

export const VIEWS = {
  outputs: "Outputs",
  ab: "A to B",
  ra: "Reference to A",
  rb: "Reference to B",
} as const;

export type View = keyof typeof VIEWS;

/** Where the reader is among the items of a comparison. */
export interface ItemsPlace {
  selection: ComparisonItemSelection;
  /** From 1. */
  page: number;
  /** An id, FIRST, LAST, or empty. */
  item: string;
  /** From 1. */
  repeat: number;
  view: View;
  /** The panel that labels are for; empty for the first. */
  panel: string;
  /** Whether sides and votes are hidden until the reader has labelled. */
  isBlind: boolean;
}

/** The place in an address. What it doesn't know is ignored. */
export function readPlace(params: URLSearchParams): ItemsPlace {
  const [outcome, status, metric] = ["outcome", "status", "metric"].map((name) => params.get(name) ?? "");
  const view = params.get("view") ?? "";
  return {
    selection: {
      ...(params.get("order") === "random" && { order: "random" }),
      ...(isOutcome(outcome) && { outcome, ...(metric && { metric }) }),
      ...(status &&
        Object.hasOwn(ITEM_STATUSES, status) && { status: status as ComparisonItemSelection["status"] }),
    },
    page: placeNumber(params.get("page")),
    item: params.get("item") ?? "",
    repeat: placeNumber(params.get("repeat")),
    view: Object.hasOwn(VIEWS, view) ? (view as View) : "outputs",
    panel: params.get("panel") ?? "",
    isBlind: params.get("blind") === "1",
  };
}

function isOutcome(text: string | undefined): text is EvaluationOutcome {
  return text !== undefined && Object.hasOwn(OUTCOMES, text);
}

/** The sides in an order that doesn't tell which is which: half of the items begin with B. */
export function blindSides(itemId: string): ["a", "b"] | ["b", "a"] {
  return Number.parseInt(itemId.at(-1) ?? "0", 16) % 2 === 0 ? ["a", "b"] : ["b", "a"];
}
