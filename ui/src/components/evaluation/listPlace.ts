/** In the address instead of an id, when a page was turned by keyboard. */
export const FIRST = "first";
export const LAST = "last";

/** The row of a page that an address means: without one, the first. */
export function chosenRow(wanted: string, ids: readonly string[]): string | undefined {
  if (wanted === LAST) return ids.at(-1);
  return wanted === "" || wanted === FIRST ? ids[0] : wanted;
}

/** Where the next or previous row is. Null at both ends. */
export function step(
  by: 1 | -1,
  chosen: string | undefined,
  ids: readonly string[],
  page: number,
  hasMore: boolean,
): { page: number; row: string } | null {
  const at = chosen === undefined ? -1 : ids.indexOf(chosen);
  const next = at < 0 ? ids[0] : ids[at + by];
  if (next !== undefined) return { page, row: next };
  if (by > 0) return hasMore ? { page: page + 1, row: FIRST } : null;
  return page > 1 ? { page: page - 1, row: LAST } : null;
}
