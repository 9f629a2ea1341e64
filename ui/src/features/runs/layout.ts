import { DEFAULT_LAYOUT, inOrder, type Layout, type Widths } from "./columns";

/** Bounds of a column's width, in pixels. */
export const MIN_WIDTH = 48;
export const MAX_WIDTH = 1200;

/** A width in whole pixels within the bounds. */
export function boundedWidth(width: number): number {
  return Math.round(Math.min(MAX_WIDTH, Math.max(MIN_WIDTH, width)));
}

/** Reads a stored layout. `earlier` is the list of columns that was stored before projects had their own; null without one. */
export function readLayout(stored: string | null, earlier: string | null): Layout {
  const parsed = parse(stored);
  if (parsed) return parsed;
  return earlier === null ? DEFAULT_LAYOUT : { columns: inOrder(earlier.split(",")), widths: {} };
}

/** The text to store. */
export function writeLayout({ columns, widths }: Layout): string {
  return JSON.stringify({ columns, widths });
}

/** Sets the width of a column; null for its own. */
export function withWidth(widths: Widths, id: string, width: number | null): Widths {
  const { [id]: _, ...others } = widths;
  return width === null ? others : { ...others, [id]: boundedWidth(width) };
}

function parse(stored: string | null): Layout | null {
  if (stored === null) return null;
  try {
    const { columns, widths } = JSON.parse(stored) as { columns?: unknown; widths?: unknown };
    if (!Array.isArray(columns)) return null;
    const known = Object.entries(typeof widths === "object" && widths !== null ? widths : {}).filter(
      (entry): entry is [string, number] => typeof entry[1] === "number" && Number.isFinite(entry[1]),
    );
    return {
      columns: inOrder(columns.filter((id) => typeof id === "string")),
      widths: Object.fromEntries(known.map(([id, width]) => [id, boundedWidth(width)])),
    };
  } catch {
    return null;
  }
}
