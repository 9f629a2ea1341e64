import { Button, Group, SegmentedControl, Select } from "@mantine/core";
import { IconArrowLeft } from "@tabler/icons-react";
import { Link, useSearchParams } from "react-router";
import { hasEnded } from "@/api/comparisons";
import { useEvalRunItems } from "@/api/evalRuns";
import { ITEMS_PAGE } from "@/api/paging";
import type { EvalRun, EvalRunItem } from "@/api/types";
import { Disclosure } from "@/components/evaluation/Disclosure";
import { ItemPages } from "@/components/evaluation/ItemPages";
import classes from "@/components/evaluation/Items.module.css";
import { itemName, oneLine } from "@/components/evaluation/items";
import { formatValue } from "@/components/evaluation/measures";
import { ItemPart, Output, RecordedValue } from "@/components/evaluation/Output";
import { ITEM_STATUSES, reasonText } from "@/components/evaluation/progress";
import { PageMessage } from "@/components/PageMessage";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { useKeys } from "@/components/useKeys";
import { useProjectId } from "@/components/useProject";
import { itemScore, primaryScore } from "./evalRuns";
import { readItemsPlace } from "./itemsPlace";

/** The items of an eval-run, and the outputs of one. The place is in the address. */
export function ItemsTab({ run }: { run: EvalRun }) {
  const [params, setParams] = useSearchParams();
  const place = readItemsPlace(params);
  const query = useEvalRunItems(run.id, place.status, (place.page - 1) * ITEMS_PAGE, !hasEnded(run));
  const items = query.data?.data ?? [];
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
            value={place.status ?? null}
            onChange={(status) => set({ status, page: null, item: null, repeat: null })}
            clearable
            clearButtonProps={{ "aria-label": "Clear status" }}
          />
        </search>
        <QueryState query={query} skeleton={<SkeletonRows count={10} height={44} />}>
          {({ has_more: hasMore }) =>
            items.length === 0 ? (
              <PageMessage title="No items have this status.">
                <Button variant="default" onClick={() => setParams({ tab: "items" })}>
                  Clear filters
                </Button>
              </PageMessage>
            ) : (
              <>
                <ItemList
                  items={items}
                  score={primaryScore(run)?.name}
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
          <Detail
            key={chosen.item_id}
            run={run}
            item={chosen}
            repeat={place.repeat}
            onRepeat={(repeat) => set({ repeat }, true)}
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
                    {formatValue("score", itemScore(item, score))}
                  </>
                ) : (
                  ITEM_STATUSES[item.status]
                )}
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

interface DetailProps {
  run: EvalRun;
  item: EvalRunItem;
  repeat: number;
  onRepeat: (repeat: string | null) => void;
}

function Detail({ run, item, repeat: wanted, onRepeat }: DetailProps) {
  const projectId = useProjectId();
  const repeat = item.repeats.find((one) => one.repeat === wanted) ?? item.repeats[0];
  return (
    <div className={classes.content} data-testid="item-detail" data-item={item.item_id}>
      <header className={classes.head}>
        <h2 className={classes.title}>
          <bdi>{itemName(item)}</bdi>
          {item.key !== null && <span className={classes.dim}> no. {item.number}</span>}
        </h2>
        <span>{ITEM_STATUSES[item.status]}</span>
        <Link
          to={`/p/${projectId}/datasets/${run.dataset.id}?item=${item.item_id}&revision=${run.dataset.revision}`}
        >
          In the dataset
        </Link>
        {item.repeats.length > 1 && (
          <Group gap={6} ml="auto">
            <span className={classes.dim}>Repeat</span>
            <SegmentedControl
              size="xs"
              aria-label="Repeat"
              value={String(repeat?.repeat)}
              onChange={(value) => onRepeat(value === "1" ? null : value)}
              data={item.repeats.map((one) => String(one.repeat))}
            />
          </Group>
        )}
      </header>
      {item.reason !== null && <p className={classes.reason}>{reasonText(item.reason)}</p>}
      <div className={classes.parts}>
        <ItemPart title="Input" value={item.input} />
        <ItemPart title="Reference output" value={item.reference_output} />
      </div>
      {item.input_truncated && <p className={classes.dim}>The input is longer; it is cut here.</p>}
      {Object.keys((item.metadata as object | null) ?? {}).length > 0 && (
        <Disclosure className={classes.more} summary="Metadata">
          <RecordedValue value={item.metadata} what="metadata" />
        </Disclosure>
      )}
      {repeat ? (
        <Output side={null} output={repeat.result} isSkipped={item.status === "skipped"} />
      ) : (
        <p className={classes.dim}>No result has been sent.</p>
      )}
    </div>
  );
}
