import { Select } from "@mantine/core";
import { hasEnded, useComparisonItems } from "@/api/comparisons";
import { ITEMS_PAGE } from "@/api/paging";
import type { Comparison, ComparisonItem } from "@/api/types";
import { itemName, oneLine } from "@/components/evaluation/items";
import { ListAndDetail } from "@/components/evaluation/ListAndDetail";
import { labelPanels } from "@/components/evaluation/labels";
import { OutcomeMark } from "@/components/evaluation/Marks";
import { formatDifference, metricLabel } from "@/components/evaluation/measures";
import { ITEM_STATUSES, OUTCOMES } from "@/components/evaluation/progress";
import { StatusSelect } from "@/components/evaluation/StatusSelect";
import { useAddress } from "@/components/useAddress";
import { ItemDetail } from "./ItemDetail";
import { readPlace } from "./itemsPlace";

/** The items of a comparison, and the outputs of one side by side. The place is in the address. */
export function ItemsTab({ comparison }: { comparison: Comparison }) {
  const { params, set } = useAddress();
  const place = readPlace(params);
  const live = !hasEnded(comparison);
  const query = useComparisonItems(comparison.id, place.selection, (place.page - 1) * ITEMS_PAGE, live);
  const metric = place.isBlind ? null : (place.selection.metric ?? comparison.primary_metric);
  return (
    <ListAndDetail
      what="item"
      testId="comparison-item"
      query={query}
      wanted={place.item}
      page={place.page}
      filters={
        <Filters
          comparison={comparison}
          params={params}
          onChange={(name, value) => set({ [name]: value, page: null, item: null })}
        />
      }
      note={
        place.selection.order === "random" &&
        "Label both outputs of each item from the top, without leaving one out: labels up to the first item that has none correct the difference. The order is that of all evaluations of the dataset."
      }
      empty="No items match these filters."
      onClear={() => set({ outcome: null, metric: null, status: null, order: null, page: null, item: null })}
      row={(item) => ({
        id: item.item_id,
        status: item.status,
        name: itemName(item),
        mark: <ItemMark item={item} metric={metric} />,
        line: oneLine(item.input),
      })}
    >
      {(id, move) => (
        <ItemDetail
          key={id}
          comparison={comparison}
          itemId={id}
          place={place}
          live={live}
          onMove={move}
          onPlace={(changes) => set(changes, true)}
        />
      )}
    </ListAndDetail>
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
    <>
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
      <StatusSelect
        of="item"
        statuses={ITEM_STATUSES}
        value={params.get("status")}
        onChange={(value) => onChange("status", value)}
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
    </>
  );
}

function ItemMark({ item, metric }: { item: ComparisonItem; metric: string | null }) {
  const isLabelled = item.repeats.some(({ labels }) => labels.a.length > 0 && labels.b.length > 0);
  const found = item.metrics.find(({ name }) => name === metric);
  if (!found || item.status !== "scored")
    return (
      <>
        {ITEM_STATUSES[item.status]}
        {isLabelled && <span>labelled</span>}
      </>
    );
  // Only differences of scores are short enough for the list.
  const isScore = !OPERATIONAL.includes(found.name);
  return (
    <>
      {isScore && found.difference !== null && found.difference !== 0 && (
        <span>{formatDifference("score", found.difference)}</span>
      )}
      <OutcomeMark outcome={found.outcome} />
      {isLabelled && <span>labelled</span>}
    </>
  );
}

/** The metrics of every comparison that are no scores. */
const OPERATIONAL: readonly string[] = ["failures", "cost_usd", "duration_ms", "output_tokens"];
