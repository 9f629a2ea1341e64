import { Button, Select } from "@mantine/core";
import { IconArrowLeft } from "@tabler/icons-react";
import { useEffect, useRef } from "react";
import { Link, useSearchParams } from "react-router";
import { hasEnded, useComparisonItems } from "@/api/comparisons";
import { ITEMS_PAGE } from "@/api/paging";
import type { Comparison, ComparisonItem } from "@/api/types";
import { ItemPages } from "@/components/evaluation/ItemPages";
import classes from "@/components/evaluation/Items.module.css";
import { itemName, oneLine } from "@/components/evaluation/items";
import { labelPanels } from "@/components/evaluation/labels";
import { OutcomeMark } from "@/components/evaluation/Marks";
import { formatDifference, metricLabel } from "@/components/evaluation/measures";
import { ITEM_STATUSES, OUTCOMES } from "@/components/evaluation/progress";
import { PageMessage } from "@/components/PageMessage";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { useKeys } from "@/components/useKeys";
import { ItemDetail } from "./ItemDetail";
import { chosenItem, FIRST, LAST, readPlace, step } from "./itemsPlace";

/** The items of a comparison, and the outputs of one side by side. The place is in the address. */
export function ItemsTab({ comparison }: { comparison: Comparison }) {
  const [params, setParams] = useSearchParams();
  const place = readPlace(params);
  const live = !hasEnded(comparison);
  const query = useComparisonItems(comparison.id, place.selection, (place.page - 1) * ITEMS_PAGE, live);
  const items = query.data?.data ?? [];
  const ids = items.map(({ item_id: id }) => id);
  // Until a page is turned, there is no first or last item of it.
  const isTurning = query.isPlaceholderData && (place.item === FIRST || place.item === LAST);
  const chosen = isTurning ? undefined : chosenItem(place, ids);
  const hasMore = query.data?.has_more ?? false;
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
  const filter = (name: string, value: string | null) => set({ [name]: value, page: null, item: null });
  const move = (by: 1 | -1) => {
    if (isTurning) return;
    const next = step(by, chosen, ids, place.page, hasMore);
    if (next) set({ item: next.item, page: next.page === 1 ? null : String(next.page), repeat: null }, true);
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    ArrowRight: () => move(1),
    ArrowLeft: () => move(-1),
  });
  const metric = place.isBlind ? null : (place.selection.metric ?? comparison.primary_metric);
  return (
    <div className={classes.root} data-open={place.item !== "" || undefined}>
      <div className={classes.side}>
        <Filters comparison={comparison} params={params} onChange={filter} />
        {place.selection.order === "random" && (
          <p className={classes.note}>
            Label both outputs of each item from the top, without leaving one out: labels up to the first item
            that has none correct the difference. The order is that of all evaluations of the dataset.
          </p>
        )}
        <QueryState query={query} skeleton={<SkeletonRows count={10} height={44} />}>
          {() =>
            items.length === 0 ? (
              <PageMessage title="No items match these filters.">
                <Button variant="default" onClick={() => setParams({ tab: "items" })}>
                  Clear filters
                </Button>
              </PageMessage>
            ) : (
              <>
                <ItemList
                  items={items}
                  chosen={chosen}
                  metric={metric}
                  params={params}
                  isStale={query.isPlaceholderData}
                />
                <ItemPages
                  page={place.page}
                  count={items.length}
                  hasMore={hasMore}
                  onChange={(page) => set({ page: page === 1 ? null : String(page), item: null })}
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
        {chosen !== undefined && items.length > 0 && (
          <ItemDetail
            key={chosen}
            comparison={comparison}
            itemId={chosen}
            place={place}
            live={live}
            onMove={move}
            onPlace={(changes) => set(changes, true)}
          />
        )}
      </section>
    </div>
  );
}

interface FiltersProps {
  comparison: Comparison;
  params: URLSearchParams;
  onChange: (name: string, value: string | null) => void;
}

const options = (labels: Record<string, string>) =>
  Object.entries(labels).map(([value, label]) => ({ value, label }));

function Filters({ comparison, params, onChange }: FiltersProps) {
  const metrics = comparison.summary?.metrics ?? [];
  const isKnown = (name: string) => metrics.some((metric) => metric.name === name);
  const metric = params.get("metric") ?? "";
  return (
    <search className={classes.filters}>
      <Select
        size="xs"
        aria-label="Outcome"
        placeholder="Any outcome"
        data={options(OUTCOMES)}
        value={params.get("outcome")}
        onChange={(value) => onChange("outcome", value)}
        clearable
        clearButtonProps={{ "aria-label": "Clear outcome" }}
        disabled={metrics.length === 0}
      />
      <Select
        size="xs"
        aria-label="Metric of the outcome"
        placeholder={comparison.primary_metric ?? "Metric"}
        data={metrics.map((one) => ({ value: one.name, label: metricLabel(one) }))}
        value={isKnown(metric) ? metric : null}
        onChange={(value) => onChange("metric", value)}
        clearable
        clearButtonProps={{ "aria-label": "Clear metric" }}
        disabled={!params.get("outcome")}
      />
      <Select
        size="xs"
        aria-label="Status of the item"
        placeholder="Any status"
        data={options(ITEM_STATUSES)}
        value={params.get("status")}
        onChange={(value) => onChange("status", value)}
        clearable
        clearButtonProps={{ "aria-label": "Clear status" }}
      />
      {labelPanels(comparison).length > 0 && (
        <Select
          size="xs"
          aria-label="Order of the items"
          data={[
            { value: "run", label: "In order" },
            { value: "random", label: "In random order, to label" },
          ]}
          value={params.get("order") === "random" ? "random" : "run"}
          allowDeselect={false}
          onChange={(value) => onChange("order", value === "random" ? value : null)}
        />
      )}
    </search>
  );
}

interface ListProps {
  items: ComparisonItem[];
  chosen: string | undefined;
  metric: string | null;
  params: URLSearchParams;
  isStale: boolean;
}

function ItemList({ items, chosen, metric, params, isStale }: ListProps) {
  const list = useRef<HTMLUListElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the chosen item changes what is marked
  useEffect(() => {
    list.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  const addressOf = (id: string) => {
    const copy = new URLSearchParams(params);
    copy.set("item", id);
    copy.delete("repeat");
    return `?${copy}`;
  };
  return (
    <ul ref={list} className={classes.list} data-stale={isStale || undefined} aria-label="Items">
      {items.map((item) => (
        <li key={item.item_id}>
          <Link
            to={addressOf(item.item_id)}
            replace
            className={classes.item}
            aria-current={item.item_id === chosen ? "true" : undefined}
            data-testid="comparison-item"
            data-item={item.item_id}
            data-status={item.status}
          >
            <span className={classes.itemHead}>
              <span className={classes.itemName}>
                <bdi>{itemName(item)}</bdi>
              </span>
              <ItemMark item={item} metric={metric} />
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

function ItemMark({ item, metric }: { item: ComparisonItem; metric: string | null }) {
  const isLabelled = item.repeats.some(({ labels }) => labels.a.length > 0 && labels.b.length > 0);
  const found = item.metrics.find(({ name }) => name === metric);
  if (!found || item.status !== "scored")
    return (
      <span className={classes.itemMark}>
        {ITEM_STATUSES[item.status]}
        {isLabelled && <span>labelled</span>}
      </span>
    );
  // Only differences of scores are short enough for the list.
  const isScore = !OPERATIONAL.includes(found.name);
  return (
    <span className={classes.itemMark}>
      {isScore && found.difference !== null && found.difference !== 0 && (
        <span>{formatDifference("score", found.difference)}</span>
      )}
      <OutcomeMark outcome={found.outcome} />
      {isLabelled && <span>labelled</span>}
    </span>
  );
}

/** The metrics of every comparison that are no scores. */
const OPERATIONAL: readonly string[] = ["failures", "cost_usd", "duration_ms", "output_tokens"];
