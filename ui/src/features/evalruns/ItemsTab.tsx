import { Button, Select } from "@mantine/core";
import { IconArrowLeft } from "@tabler/icons-react";
import { Link, useSearchParams } from "react-router";
import { isSettled } from "@/api/comparisons";
import { useEvalRunItems } from "@/api/evalRuns";
import { ITEMS_PAGE } from "@/api/paging";
import type { EvalRun, EvalRunItem } from "@/api/types";
import { ItemPages } from "@/components/evaluation/ItemPages";
import classes from "@/components/evaluation/Items.module.css";
import { itemName, oneLine } from "@/components/evaluation/items";
import { ITEM_STATUSES } from "@/components/evaluation/progress";
import { NONE } from "@/components/format";
import { PageMessage } from "@/components/PageMessage";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { useKeys } from "@/components/useKeys";
import { itemVerdict, primaryScore } from "./evalRuns";
import { ItemDetail } from "./ItemDetail";
import { readItemsPlace } from "./itemsPlace";

/** The items of an eval-run, and the outputs of one. The place is in the address. */
export function ItemsTab({ run }: { run: EvalRun }) {
  const [params, setParams] = useSearchParams();
  const place = readItemsPlace(params);
  const { status, split } = place;
  const live = !isSettled(run);
  const order = place.isRandom ? "random" : "dataset";
  const query = useEvalRunItems(run.id, { status, split, order }, (place.page - 1) * ITEMS_PAGE, live);
  const items = query.data?.data ?? [];
  // A judge alone can't split.
  const panels = run.panels.filter(({ judges }) => judges.length > 1);
  const index = Math.max(
    0,
    items.findIndex(({ item_id: id }) => id === place.item),
  );
  const chosen = items[index];
  const set = (changes: Record<string, string | null>, replace = false) =>
    setParams(
      (current) => {
        for (const [name, value] of Object.entries(changes)) {
          if (value) current.set(name, value);
          else current.delete(name);
        }
        return current;
      },
      { replace },
    );
  const move = (by: 1 | -1) => {
    const next = items[index + by];
    if (next) set({ item: next.item_id, repeat: null }, true);
  };
  useKeys({ j: () => move(1), k: () => move(-1) });
  return (
    <div className={classes.root} data-open={place.item !== "" || undefined}>
      <div className={classes.side}>
        <search className={classes.filters}>
          <Select
            size="xs"
            aria-label="Status of the item"
            placeholder="Any status"
            data={Object.entries(ITEM_STATUSES).map(([value, label]) => ({ value, label }))}
            value={status ?? null}
            onChange={(value) => set({ status: value, page: null, item: null, repeat: null })}
            clearable
            clearButtonProps={{ "aria-label": "Clear status" }}
          />
          {panels.length > 0 && (
            <Select
              size="xs"
              aria-label="Where judges split"
              placeholder="All items"
              data={panels.map(({ name }) => ({ value: name, label: `Split on ${name}` }))}
              value={split ?? null}
              onChange={(value) => set({ split: value, page: null, item: null, repeat: null })}
              clearable
              clearButtonProps={{ "aria-label": "Clear splits" }}
            />
          )}
          {run.panels.length > 0 && (
            <Select
              size="xs"
              aria-label="Order of the items"
              data={[
                { value: "dataset", label: "In order" },
                { value: "random", label: "In random order, to label" },
              ]}
              value={order}
              allowDeselect={false}
              onChange={(value) =>
                set({ order: value === "random" ? value : null, page: null, item: null, repeat: null })
              }
            />
          )}
        </search>
        {place.isRandom && (
          <p className={classes.note}>
            Label from the top, without leaving one out: labels up to the first item that has none correct the
            mean. The order is the same for all eval-runs of the dataset, so that labels of two correct their
            difference.
          </p>
        )}
        <QueryState query={query} skeleton={<SkeletonRows count={10} height={44} />}>
          {({ has_more: hasMore }) =>
            items.length === 0 ? (
              <PageMessage
                title={split ? "The judges split on none of these items." : "No items have this status."}
              >
                <Button variant="default" onClick={() => setParams({ tab: "items" })}>
                  Clear filters
                </Button>
              </PageMessage>
            ) : (
              <>
                <ItemList
                  items={items}
                  score={
                    place.isBlind ? undefined : (primaryScore(run)?.name ?? run.primary_metric ?? undefined)
                  }
                  chosen={chosen}
                  params={params}
                  isStale={query.isPlaceholderData}
                />
                <ItemPages
                  page={place.page}
                  count={items.length}
                  hasMore={hasMore}
                  onChange={(page) =>
                    set({ page: page === 1 ? null : String(page), item: null, repeat: null })
                  }
                />
              </>
            )
          }
        </QueryState>
      </div>
      <section className={classes.detail} aria-label="Item">
        <div className={classes.back}>
          <Button
            size="compact-sm"
            variant="default"
            leftSection={<IconArrowLeft size={14} />}
            onClick={() => set({ item: null })}
          >
            All items
          </Button>
        </div>
        {chosen && (
          <ItemDetail
            key={chosen.item_id}
            run={run}
            itemId={chosen.item_id}
            place={place}
            live={live}
            onPlace={(changes) => set(changes, true)}
            onNext={() => move(1)}
          />
        )}
      </section>
    </div>
  );
}

interface ListProps {
  items: EvalRunItem[];
  /** The score to show. */
  score: string | undefined;
  chosen: EvalRunItem | undefined;
  params: URLSearchParams;
  isStale: boolean;
}

function ItemList({ items, score, chosen, params, isStale }: ListProps) {
  const addressOf = (id: string) => {
    const copy = new URLSearchParams(params);
    copy.set("item", id);
    copy.delete("repeat");
    return `?${copy}`;
  };
  return (
    <ul className={classes.list} data-stale={isStale || undefined} aria-label="Items">
      {items.map((item) => (
        <li key={item.item_id}>
          <Link
            to={addressOf(item.item_id)}
            replace
            className={classes.item}
            aria-current={item === chosen ? "true" : undefined}
            data-testid="eval-run-item"
            data-item={item.item_id}
            data-status={item.status}
          >
            <span className={classes.itemHead}>
              <span className={classes.itemName}>
                <bdi>{itemName(item)}</bdi>
              </span>
              <span className={classes.itemMark}>
                {score !== undefined && item.status === "scored" ? (
                  <>
                    <bdi className={classes.itemScore}>{score}</bdi>{" "}
                    <bdi>{itemVerdict(item, score) ?? NONE}</bdi>
                  </>
                ) : (
                  ITEM_STATUSES[item.status]
                )}
                {item.repeats.some(({ labels }) => labels.length > 0) && <span>labelled</span>}
              </span>
            </span>
            <span className={classes.itemInput} dir="auto">
              {oneLine(item.input)}
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}
