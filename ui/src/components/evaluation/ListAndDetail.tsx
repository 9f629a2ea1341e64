import { Button } from "@mantine/core";
import { IconArrowLeft } from "@tabler/icons-react";
import { useEffect, useRef } from "react";
import { Link } from "react-router";
import { PageMessage } from "@/components/PageMessage";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { useAddress } from "@/components/useAddress";
import { useKeys } from "@/components/useKeys";
import { ItemPages } from "./ItemPages";
import classes from "./Items.module.css";
import { chosenRow, FIRST, LAST, step } from "./listPlace";

/** How a row looks in the list. */
interface ListRow {
  id: string;
  status: string;
  name: string;
  /** What became of it, in a word. */
  mark: React.ReactNode;
  /** The line below. */
  line: React.ReactNode;
}

interface Props<Row> {
  /** What is listed. It is the parameter of the address that has the chosen one, too. */
  what: "item" | "run";
  testId: string;
  query: {
    data: { data: readonly Row[]; has_more: boolean } | undefined;
    error: Error | null;
    isPlaceholderData: boolean;
    refetch: () => unknown;
  };
  /** What the address has: an id, FIRST, LAST, or empty. */
  wanted: string;
  /** From 1. */
  page: number;
  filters: React.ReactNode;
  /** What to know about the list. */
  note?: React.ReactNode;
  /** Why the list is empty. */
  empty: string;
  /** Takes the filters away; undefined if there are none. */
  onClear: (() => void) | undefined;
  row: (row: Row) => ListRow;
  children: (id: string, move: (by: 1 | -1) => void) => React.ReactNode;
}

/** A list with filters, and the chosen row beside it. j and k go through it. The place is in the address. */
export function ListAndDetail<Row>(props: Props<Row>) {
  const { what, testId, query, wanted, page, filters, note, empty, onClear, row, children } = props;
  const { params, set } = useAddress();
  const rows = query.data?.data.map(row) ?? [];
  const ids = rows.map(({ id }) => id);
  const hasMore = query.data?.has_more ?? false;
  // Until a page is turned, there is no first or last row of it.
  const isTurning = query.isPlaceholderData && (wanted === FIRST || wanted === LAST);
  const chosen = isTurning ? undefined : chosenRow(wanted, ids);
  const move = (by: 1 | -1) => {
    if (isTurning) return;
    const next = step(by, chosen, ids, page, hasMore);
    if (next) set({ [what]: next.row, page: next.page === 1 ? null : String(next.page), repeat: null }, true);
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    ArrowRight: () => move(1),
    ArrowLeft: () => move(-1),
  });
  const addressOf = (id: string) => {
    const copy = new URLSearchParams(params);
    copy.set(what, id);
    copy.delete("repeat");
    return `?${copy}`;
  };
  return (
    <div className={classes.root} data-open={wanted !== "" || undefined}>
      <div className={classes.side}>
        <search className={classes.filters}>{filters}</search>
        {note && <p className={classes.note}>{note}</p>}
        <QueryState query={query} skeleton={<SkeletonRows count={10} height={44} />}>
          {() =>
            rows.length === 0 ? (
              <PageMessage title={empty}>
                {onClear && (
                  <Button variant="default" onClick={onClear}>
                    Clear filters
                  </Button>
                )}
              </PageMessage>
            ) : (
              <>
                <List
                  label={what === "item" ? "Items" : "Runs"}
                  chosen={chosen}
                  isStale={query.isPlaceholderData}
                >
                  {rows.map(({ id, status, name, mark, line }) => (
                    <li key={id}>
                      <Link
                        to={addressOf(id)}
                        replace
                        className={classes.item}
                        aria-current={id === chosen ? "true" : undefined}
                        data-testid={testId}
                        data-status={status}
                        {...{ [`data-${what}`]: id }}
                      >
                        <span className={classes.itemHead}>
                          <span className={classes.itemName}>
                            <bdi>{name}</bdi>
                          </span>
                          <span className={classes.itemMark}>{mark}</span>
                        </span>
                        <span className={classes.itemInput} dir="auto">
                          {line}
                        </span>
                      </Link>
                    </li>
                  ))}
                </List>
                <ItemPages
                  page={page}
                  count={rows.length}
                  hasMore={hasMore}
                  onChange={(to) => set({ page: to === 1 ? null : String(to), [what]: null })}
                />
              </>
            )
          }
        </QueryState>
      </div>
      <section className={classes.detail} aria-label={what === "item" ? "Item" : "Run"}>
        <div className={classes.back}>
          <Button
            size="compact-sm"
            variant="default"
            leftSection={<IconArrowLeft size={14} />}
            onClick={() => set({ [what]: null })}
          >
            All {what}s
          </Button>
        </div>
        {chosen !== undefined && rows.length > 0 && children(chosen, move)}
      </section>
    </div>
  );
}

interface ListProps {
  label: string;
  chosen: string | undefined;
  isStale: boolean;
  children: React.ReactNode;
}

function List({ label, chosen, isStale, children }: ListProps) {
  const list = useRef<HTMLUListElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the chosen row changes what is marked
  useEffect(() => {
    list.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  return (
    <ul ref={list} className={classes.list} data-stale={isStale || undefined} aria-label={label}>
      {children}
    </ul>
  );
}
