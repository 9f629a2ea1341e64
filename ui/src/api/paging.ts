/** What offset paging needs to know of a page. */
interface Page {
  data: unknown[];
  offset: number;
  has_more: boolean;
}

/** The offset of the page after this one; undefined if it is the last. */
export const nextOffset = (page: Page) => (page.has_more ? page.offset + page.data.length : undefined);

/** How many items a page of a comparison or an eval-run has. */
export const ITEMS_PAGE = 50;
