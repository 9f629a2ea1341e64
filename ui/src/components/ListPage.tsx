import { Button } from "@mantine/core";
import type { InfiniteData, UseInfiniteQueryResult } from "@tanstack/react-query";
import classes from "./ListPage.module.css";
import { LoadMore } from "./LoadMore";
import { PageHeader } from "./PageHeader";
import { PageMessage } from "./PageMessage";
import { QueryState, SkeletonRows } from "./QueryState";
import { useRowFocus } from "./useRowFocus";

interface Props<Row> extends Omit<React.ComponentProps<typeof PageHeader>, "children"> {
  query: UseInfiniteQueryResult<InfiniteData<{ data: Row[] }>>;
  /** What is listed, in the plural: "threads". */
  what: string;
  /** Height of a row of the skeleton, in pixels. */
  rowHeight: number;
  /** What an empty list says. */
  emptyTitle: string;
  emptyHint?: React.ReactNode;
  /** Replaces all that an empty list says. */
  empty?: React.ReactNode;
  /** Set while a filter or search is active. */
  onClearFilters?: () => void;
  /** Above the list. */
  banner?: React.ReactNode;
  children: (rows: Row[]) => React.ReactNode;
}

/** A page that is one list, loaded page by page. */
export function ListPage<Row>(props: Props<Row>) {
  const {
    query,
    what,
    rowHeight,
    emptyTitle,
    emptyHint,
    empty,
    onClearFilters,
    banner,
    children,
    ...header
  } = props;
  const list = useRowFocus();
  return (
    <div className={classes.page}>
      <PageHeader {...header} />
      <div className={classes.body}>
        {banner}
        <QueryState query={query} skeleton={<SkeletonRows count={8} height={rowHeight} />} page>
          {({ pages }) => {
            const rows = pages.flatMap((page) => page.data);
            if (rows.length === 0 && empty) return empty;
            if (rows.length === 0 && onClearFilters) {
              return (
                <PageMessage title={`No ${what} match these filters.`}>
                  <Button variant="default" onClick={onClearFilters}>
                    Clear filters
                  </Button>
                </PageMessage>
              );
            }
            if (rows.length === 0) {
              return <PageMessage title={emptyTitle}>{emptyHint}</PageMessage>;
            }
            return (
              <>
                <div
                  ref={list}
                  className={classes.list}
                  data-stale={query.isPlaceholderData || undefined}
                  aria-busy={query.isPlaceholderData}
                >
                  {children(rows)}
                </div>
                <LoadMore query={query} what={what} />
              </>
            );
          }}
        </QueryState>
      </div>
    </div>
  );
}
