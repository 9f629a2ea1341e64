import { Button, Checkbox, Group, Skeleton, Text, VisuallyHidden } from "@mantine/core";
import { IconArrowLeft, IconArrowsExchange } from "@tabler/icons-react";
import { useState } from "react";
import { Link } from "react-router";
import { useDatasetDiff, useDatasetRevisions } from "@/api/datasets";
import { writeJson } from "@/api/json";
import type { Dataset, DatasetItemChange } from "@/api/types";
import { Ago } from "@/components/Ago";
import { authorName } from "@/components/author";
import { Change, LayoutChoice } from "@/components/Changes";
import { DataTable } from "@/components/DataTable";
import { firstWords, formatCount } from "@/components/format";
import { LoadMore } from "@/components/LoadMore";
import { PageHint, PageMessage } from "@/components/PageMessage";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { useAddress } from "@/components/useAddress";
import { useNow } from "@/components/useNow";
import { useRowFocus } from "@/components/useRowFocus";
import classes from "./Datasets.module.css";
import { itemChanges } from "./itemDraft";
import { formatChanges, kindLabels, readComparison } from "./revisions";

/** The revisions of a dataset, and the comparison of two. */
export function RevisionsTab({ dataset }: { dataset: Dataset }) {
  const { params, set } = useAddress();
  const chosen = readComparison(params.get("compare"));
  const compare = (revisions: number[]) => set({ compare: revisions.join("...") }, revisions.length < 2);
  const [first, second] = chosen;
  if (first !== undefined && second !== undefined) {
    return (
      <Comparison
        key={`${first}...${second}`}
        dataset={dataset}
        revisions={[first, second]}
        onChange={compare}
      />
    );
  }
  return <List dataset={dataset} chosen={first} onCompare={compare} />;
}

interface ListProps {
  dataset: Dataset;
  /** The revision that the next one is compared with. */
  chosen: number | undefined;
  onCompare: (revisions: number[]) => void;
}

function List({ dataset, chosen, onCompare }: ListProps) {
  const query = useDatasetRevisions(dataset.id);
  const list = useRowFocus();
  const now = useNow(30_000);
  const choose = (revision: number) => {
    if (revision === chosen) onCompare([]);
    else onCompare(chosen === undefined ? [revision] : [chosen, revision].sort((a, b) => a - b));
  };
  return (
    <QueryState query={query} skeleton={<SkeletonRows count={6} height={32} />} page>
      {({ pages }) => {
        const revisions = pages.flatMap(({ data }) => data);
        if (revisions.length === 0) {
          return (
            <PageMessage title="No revisions yet.">
              <PageHint>Each change to the items creates a revision, which never changes.</PageHint>
            </PageMessage>
          );
        }
        return (
          <div ref={list}>
            <p className={classes.intro} role="status">
              {chosen === undefined
                ? "Choose two revisions to compare them."
                : `Choose the revision to compare with revision ${chosen}.`}
            </p>
            <DataTable
              label="Revisions"
              stacks
              rows={revisions}
              rowKey={({ revision }) => String(revision)}
              rowProps={({ revision }) => ({
                "data-testid": "revision-row",
                "data-revision": String(revision),
              })}
              columns={[
                {
                  header: "Revision",
                  cell: ({ revision }) => (
                    <Group gap={14} wrap="nowrap">
                      <Checkbox
                        size="xs"
                        aria-label={`Compare revision ${revision}`}
                        checked={revision === chosen}
                        onChange={() => choose(revision)}
                        disabled={revisions.length < 2}
                      />
                      <Link
                        to={revision === dataset.revision ? "?" : `?revision=${revision}`}
                        title="Show its items"
                        data-row-focus
                      >
                        {formatCount(revision)}
                      </Link>
                    </Group>
                  ),
                },
                { header: "Kind", cell: ({ kind }) => kindLabels[kind] },
                {
                  header: "Changes",
                  cell: ({ added, updated, removed }) => formatChanges({ added, changed: updated, removed }),
                },
                { header: "Items", number: true, cell: ({ item_count }) => formatCount(item_count) },
                {
                  header: "Note",
                  ownLine: true,
                  title: ({ note }) => note,
                  cell: ({ note }) => note && <span className={classes.value}>{note}</span>,
                },
                { header: "By", cell: ({ created_by }) => authorName(created_by) },
                {
                  header: "Time",
                  number: true,
                  cell: ({ created_at }) => <Ago time={created_at} now={now} />,
                },
                {
                  header: "Compare",
                  hideHeader: true,
                  cell: ({ revision }) =>
                    chosen === undefined && (
                      <Button
                        size="compact-xs"
                        variant="subtle"
                        onClick={() => onCompare([revision - 1, revision])}
                      >
                        Changes<VisuallyHidden> of revision {revision}</VisuallyHidden>
                      </Button>
                    ),
                },
              ]}
            />
            <LoadMore query={query} what="revisions" />
          </div>
        );
      }}
    </QueryState>
  );
}

interface ComparisonProps {
  dataset: Dataset;
  revisions: [number, number];
  onChange: (revisions: number[]) => void;
}

/** So many items are open at first. */
const OPEN = 20;

function Comparison({ dataset, revisions: [first, second], onChange }: ComparisonProps) {
  const query = useDatasetDiff(dataset.id, first, second);
  const [isSplit, setSplit] = useState(true);
  const show = (revision: number) => (revision === dataset.revision ? "?" : `?revision=${revision}`);
  return (
    <div className={classes.body}>
      <Group gap="xs" mb="sm">
        <Button variant="default" leftSection={<IconArrowLeft size={14} />} onClick={() => onChange([])}>
          All revisions
        </Button>
        <Button
          variant="default"
          leftSection={<IconArrowsExchange size={14} />}
          onClick={() => onChange([second, first])}
        >
          Swap sides
        </Button>
        <Text size="sm" ml="auto">
          <Link to={show(first)}>Items of revision {first}</Link> ·{" "}
          <Link to={show(second)}>Items of revision {second}</Link>
        </Text>
      </Group>
      <QueryState query={query} skeleton={<Skeleton h={240} />}>
        {({ pages }) => (
          <div data-testid="dataset-diff">
            <Group justify="space-between" mb="sm" gap="xs">
              <Text size="sm" fw={550} data-testid="diff-summary">
                From revision {first} to {second}: {pages[0] ? formatChanges(pages[0]) : "nothing changed"}
              </Text>
              <LayoutChoice isSplit={isSplit} onChange={setSplit} />
            </Group>
            {pages
              .flatMap(({ data }) => data)
              .map((change, index) => (
                <ItemChange
                  key={change.item_id}
                  change={change}
                  startsOpen={index < OPEN}
                  isSplit={isSplit}
                  sides={[`revision ${first}`, `revision ${second}`]}
                />
              ))}
            <LoadMore query={query} what="changes" />
          </div>
        )}
      </QueryState>
    </div>
  );
}

const SIGNS = { added: "+", removed: "−", changed: "±" };

interface ItemChangeProps {
  change: DatasetItemChange;
  startsOpen: boolean;
  isSplit: boolean;
  sides: [string, string];
}

function ItemChange({ change, startsOpen, isSplit, sides }: ItemChangeProps) {
  const [isOpen, setOpen] = useState(startsOpen);
  const item = change.after ?? change.before;
  const name =
    item?.key ?? firstWords(typeof item?.input === "string" ? item.input : writeJson(item?.input), 120);
  return (
    <details
      className={classes.item}
      open={isOpen}
      onToggle={(event) => setOpen(event.currentTarget.open)}
      data-testid="item-change"
      data-change={change.change}
    >
      <summary>
        <span className={classes.sign} aria-hidden="true">
          {SIGNS[change.change]}
        </span>
        <strong>{name}</strong>
        <span className={classes.dim}>{change.change}</span>
      </summary>
      {isOpen && (
        <div>
          {itemChanges(change.before, change.after).map((member) => (
            <Change key={member.path} change={member} isSplit={isSplit} sides={sides} />
          ))}
        </div>
      )}
    </details>
  );
}
