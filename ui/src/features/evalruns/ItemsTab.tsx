import { Select } from "@mantine/core";
import { isFinal } from "@/api/comparisons";
import { useEvalRunItems } from "@/api/evalRuns";
import { ITEMS_PAGE } from "@/api/paging";
import type { EvalRun, EvalRunItem } from "@/api/types";
import classes from "@/components/evaluation/Items.module.css";
import { itemName, oneLine } from "@/components/evaluation/items";
import { ListAndDetail } from "@/components/evaluation/ListAndDetail";
import { ITEM_STATUSES } from "@/components/evaluation/progress";
import { StatusSelect } from "@/components/evaluation/StatusSelect";
import { NONE } from "@/components/format";
import { useAddress } from "@/components/useAddress";
import { itemVerdict, primaryScore } from "./evalRuns";
import { ItemDetail } from "./ItemDetail";
import { readItemsPlace } from "./itemsPlace";

/** The items of an eval-run, and the outputs of one. The place is in the address. */
export function ItemsTab({ run }: { run: EvalRun }) {
  const { params, set } = useAddress();
  const place = readItemsPlace(params);
  const { status, split } = place;
  const live = !isFinal(run);
  const order = place.isRandom ? "random" : "dataset";
  const query = useEvalRunItems(run.id, { status, split, order }, (place.page - 1) * ITEMS_PAGE, live);
  // A judge alone can't split.
  const panels = run.panels.filter(({ judges }) => judges.length > 1);
  const score = place.isBlind ? undefined : (primaryScore(run)?.name ?? run.primary_metric ?? undefined);
  return (
    <ListAndDetail
      what="item"
      testId="eval-run-item"
      query={query}
      wanted={place.item}
      page={place.page}
      filters={
        <>
          <StatusSelect
            of="item"
            statuses={ITEM_STATUSES}
            value={status}
            onChange={(value) => set({ status: value, page: null, item: null, repeat: null })}
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
        </>
      }
      note={
        place.isRandom &&
        "Label from the top, without leaving one out: labels up to the first item that has none correct the mean. The order is the same for all eval-runs of the dataset, so that labels of two correct their difference."
      }
      empty={split ? "The judges split on none of these items." : "No items have this status."}
      onClear={() => set({ status: null, split: null, order: null, page: null, item: null })}
      row={(item) => ({
        id: item.item_id,
        status: item.status,
        name: itemName(item),
        mark: <ItemMark item={item} score={score} />,
        line: oneLine(item.input),
      })}
    >
      {(id, move) => (
        <ItemDetail
          key={id}
          run={run}
          itemId={id}
          place={place}
          live={live}
          onPlace={(changes) => set(changes, true)}
          onNext={() => move(1)}
        />
      )}
    </ListAndDetail>
  );
}

/** What became of an item, or its value of a score. */
function ItemMark({ item, score }: { item: EvalRunItem; score: string | undefined }) {
  return (
    <>
      {score !== undefined && item.status === "scored" ? (
        <>
          <bdi className={classes.itemScore}>{score}</bdi> <bdi>{itemVerdict(item, score) ?? NONE}</bdi>
        </>
      ) : (
        ITEM_STATUSES[item.status]
      )}
      {item.repeats.some(({ labels }) => labels.length > 0) && <span>labelled</span>}
    </>
  );
}
