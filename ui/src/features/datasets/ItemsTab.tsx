import { Autocomplete, Badge, Button, Group, Select } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useMemo, useState } from "react";
import { Link } from "react-router";
import { useDatasetItems, useDatasetRevisions } from "@/api/datasets";
import { writeJson } from "@/api/json";
import type { Dataset, DatasetItem } from "@/api/types";
import { DataTable } from "@/components/DataTable";
import { firstWords, formatAge, NONE } from "@/components/format";
import { LoadMore } from "@/components/LoadMore";
import { PageMessage } from "@/components/PageMessage";
import { PausedSearch } from "@/components/PausedSearch";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { useAddress } from "@/components/useAddress";
import { useNow } from "@/components/useNow";
import { useProjectId } from "@/components/useProject";
import { useRowFocus } from "@/components/useRowFocus";
import classes from "./Datasets.module.css";
import { ItemPanel, NewItemPanel } from "./ItemPanel";
import { kindLabels, readRevision } from "./revisions";
import { WaysToFill } from "./WaysToFill";

/** In the address, instead of an item's id. */
const NEW = "new";

/** The items of a revision, with filters. Everything but the text of a search is in the address. */
export function ItemsTab({ dataset, mayWrite }: { dataset: Dataset; mayWrite: boolean }) {
  const projectId = useProjectId();
  const { params, set } = useAddress();
  const list = useRowFocus();
  const asked = readRevision(params.get("revision"));
  const revision = asked === dataset.revision ? undefined : asked;
  const [search, split, tag, open] = ["search", "split", "tag", "item"].map((name) => params.get(name) ?? "");
  const sourceRun = params.get("source_run_id") ?? "";
  const isFiltered = search !== "" || split !== "" || tag !== "" || sourceRun !== "";
  const query = useDatasetItems(dataset.id, {
    revision,
    search: search || undefined,
    split: split || undefined,
    tag: tag || undefined,
    source_run_id: sourceRun || undefined,
  });
  const items = query.data?.pages.flatMap(({ data }) => data) ?? [];
  const known = {
    splits: [...new Set(items.flatMap((item) => item.split ?? []))].sort(),
    tags: [...new Set(items.flatMap(({ tags }) => tags))].sort(),
  };
  const addressOf = (id: string) => `?${withParam(params, "item", id)}`;
  const isEmpty = dataset.item_count === 0 && revision === undefined;
  const panel = {
    dataset,
    known,
    onClose: () => set({ item: "" }, true),
    onOpen: (id: string) => set({ item: id }, true),
  };
  return (
    <>
      {!(isEmpty && dataset.revision === 0) && (
        <div className={classes.bar}>
          <search>
            <PausedSearch
              label="Search items"
              placeholder="Search keys, inputs and reference outputs"
              value={search ?? ""}
              onChange={(value) => set({ search: value }, true)}
            />
            <ValueFilter
              label="Split"
              known={known.splits}
              value={split ?? ""}
              onChange={(value) => set({ split: value })}
            />
            <ValueFilter
              label="Tag"
              known={known.tags}
              value={tag ?? ""}
              onChange={(value) => set({ tag: value })}
            />
          </search>
          <RevisionChoice
            dataset={dataset}
            revision={asked ?? dataset.revision}
            onChange={(value) => set({ revision: value === dataset.revision ? "" : String(value) })}
          />
          {mayWrite && revision === undefined && (
            <Button leftSection={<IconPlus size={14} />} onClick={() => set({ item: NEW })}>
              Add item
            </Button>
          )}
        </div>
      )}
      {sourceRun !== "" && (
        <div className={classes.banner} role="status" data-testid="source-run">
          <span>
            Items from <Link to={`/p/${projectId}/runs/${sourceRun}`}>one run</Link>.
          </span>
          <Button size="compact-sm" variant="default" onClick={() => set({ source_run_id: "" })}>
            Show all items
          </Button>
        </div>
      )}
      {revision !== undefined && (
        <div className={classes.banner} role="status" data-testid="old-revision">
          <span>
            You are reading <strong>revision {revision}</strong>. The newest is {dataset.revision}. Items of
            earlier revisions can't be edited.
          </span>
          <Button size="compact-sm" variant="default" onClick={() => set({ revision: "" })}>
            Show the newest
          </Button>
        </div>
      )}
      <QueryState query={query} skeleton={<SkeletonRows count={10} height={34} />} page>
        {() =>
          items.length > 0 ? (
            <div
              ref={list}
              className={query.isPlaceholderData ? classes.stale : undefined}
              aria-busy={query.isPlaceholderData}
            >
              <DataTable
                label="Items"
                stacks
                rows={items}
                rowKey={({ id }) => id}
                rowProps={({ id }) => ({ "data-testid": "item-row", "data-item": id })}
                columns={[
                  {
                    header: "Key",
                    cell: (item) => (
                      <Link
                        to={addressOf(item.id)}
                        className={classes.name}
                        data-row-focus
                        aria-label={item.key === null ? `no key: ${oneLine(item.input, 60)}` : undefined}
                      >
                        {item.key === null ? (
                          <span className={classes.dim}>no key</span>
                        ) : (
                          <span className={classes.key} title={item.key}>
                            {item.key}
                          </span>
                        )}
                      </Link>
                    ),
                  },
                  { header: "Input", ownLine: true, cell: ({ input }) => <Value value={input} /> },
                  {
                    header: "Reference output",
                    ownLine: true,
                    cell: ({ reference_output: value }) =>
                      value === null ? <span className={classes.dim}>{NONE}</span> : <Value value={value} />,
                  },
                  { header: "Split", cell: (item) => item.split },
                  {
                    header: "Tags",
                    cell: ({ tags }) => tags.length > 0 && <Tags tags={tags} />,
                  },
                  {
                    header: "Metadata",
                    cell: ({ metadata }) =>
                      Object.keys(metadata).length > 0 && (
                        <span className={classes.brief}>{oneLine(metadata, 60)}</span>
                      ),
                  },
                  {
                    header: "Source",
                    cell: (item) => item.source_run_id && <SourceLink projectId={projectId} item={item} />,
                  },
                  { header: "Revision", number: true, cell: (item) => item.revision_added },
                ]}
              />
              <LoadMore query={query} what="items" />
            </div>
          ) : isFiltered ? (
            <PageMessage title="No items match these filters.">
              <Button
                variant="default"
                onClick={() => set({ search: null, split: null, tag: null, source_run_id: null, item: null })}
              >
                Clear filters
              </Button>
            </PageMessage>
          ) : isEmpty ? (
            <WaysToFill dataset={dataset} mayWrite={mayWrite} onAdd={() => set({ item: NEW })} />
          ) : (
            <PageMessage title={`Revision ${revision ?? dataset.revision} has no items.`} />
          )
        }
      </QueryState>
      {open === NEW && mayWrite && <NewItemPanel {...panel} />}
      {open !== "" && open !== undefined && open !== NEW && (
        <ItemPanel
          key={`${open} ${revision}`}
          {...panel}
          itemId={open}
          revision={revision}
          listed={items}
          mayEdit={mayWrite && revision === undefined}
        />
      )}
    </>
  );
}

function withParam(params: URLSearchParams, name: string, value: string): URLSearchParams {
  const copy = new URLSearchParams(params);
  copy.set(name, value);
  return copy;
}

/** A value on one line. */
function oneLine(value: unknown, length = 300): string {
  return firstWords(typeof value === "string" ? value : writeJson(value), length);
}

function Value({ value }: { value: unknown }) {
  const text = useMemo(() => oneLine(value), [value]);
  return (
    <span className={classes.value} dir="auto">
      {text || <span className={classes.dim}>empty text</span>}
    </span>
  );
}

/** Tags beyond this number are counted. */
const MAX_TAGS = 2;

function Tags({ tags }: { tags: string[] }) {
  return (
    <Group gap={4} wrap="nowrap" display="inline-flex" title={tags.join(", ")}>
      {tags.slice(0, MAX_TAGS).map((tag) => (
        <Badge
          key={tag}
          size="sm"
          flex="none"
          maw={120}
          variant="light"
          color="gray"
          c="var(--lt-text)"
          tt="none"
        >
          {tag}
        </Badge>
      ))}
      {tags.length > MAX_TAGS && <span className={classes.dim}>+{tags.length - MAX_TAGS}</span>}
    </Group>
  );
}

/** The run that an item came from. */
function SourceLink({ projectId, item }: { projectId: string; item: DatasetItem }) {
  const span = item.source_span_id === null ? "" : `?${new URLSearchParams({ span: item.source_span_id })}`;
  return <Link to={`/p/${projectId}/runs/${item.source_run_id}${span}`}>run</Link>;
}

interface FilterProps {
  label: string;
  /** Values of the items in view. Others can be typed. */
  known: string[];
  value: string;
  onChange: (value: string) => void;
}

function ValueFilter({ label, known, value, onChange }: FilterProps) {
  const [text, setText] = useState(value);
  const [seen, setSeen] = useState(value);
  if (value !== seen) {
    setSeen(value);
    setText(value);
  }
  const submit = (chosen: string) => {
    if (chosen.trim() !== value) onChange(chosen.trim());
  };
  return (
    <Autocomplete
      size="xs"
      flex="1 1 110px"
      maw={140}
      aria-label={label}
      placeholder={label}
      data={known}
      limit={50}
      maxLength={64}
      clearable
      clearButtonProps={{ "aria-label": `Clear ${label.toLowerCase()}` }}
      value={text}
      onChange={setText}
      onOptionSubmit={submit}
      onClear={() => submit("")}
      onBlur={() => submit(text)}
      onKeyDown={(event) => {
        if (event.key === "Enter") submit(text);
      }}
    />
  );
}

interface RevisionProps {
  dataset: Dataset;
  revision: number;
  onChange: (revision: number) => void;
}

function RevisionChoice({ dataset, revision, onChange }: RevisionProps) {
  const query = useDatasetRevisions(dataset.id);
  const now = useNow(30_000);
  const entries = query.data?.pages.flatMap(({ data }) => data) ?? [];
  const data = entries.map((entry) => ({
    value: String(entry.revision),
    label: `Revision ${entry.revision}${entry.revision === dataset.revision ? " (newest)" : ""}`,
    hint: `${kindLabels[entry.kind]}, ${formatAge(entry.created_at, now)} ago`,
  }));
  const chosen = String(revision);
  if (!data.some(({ value }) => value === chosen))
    data.push({ value: chosen, label: `Revision ${chosen}`, hint: "" });
  return (
    <Select
      size="xs"
      flex="1 1 150px"
      maw={170}
      aria-label="Revision"
      data={data}
      value={chosen}
      onChange={(value) => value !== null && onChange(Number(value))}
      allowDeselect={false}
      searchable={data.length > 10}
      maxDropdownHeight={320}
      comboboxProps={{ width: 260, position: "bottom-end" }}
      renderOption={({ option }) => (
        <div>
          {option.label}
          <div className={classes.dim}>{data.find(({ value }) => value === option.value)?.hint}</div>
        </div>
      )}
    />
  );
}
