import { Button, Group, Skeleton, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { fetchDataset, fetchItem } from "@/api/datasets";
import { ApiError } from "@/api/problem";
import { keys } from "@/api/queryKeys";
import type { Dataset, DatasetItem } from "@/api/types";
import { Changes } from "@/components/Changes";
import { Dialog } from "@/components/Dialog";
import { ProblemPanel } from "@/components/ProblemPanel";
import { QueryState } from "@/components/QueryState";
import { type ItemContent, itemChanges } from "./itemDraft";

interface Props {
  dataset: Dataset;
  /** The item when the edit began. */
  before: DatasetItem;
  /** Of the edit. */
  content: ItemContent;
  saving: boolean;
  error: Error | null;
  onClose: () => void;
  /** Saves the edit on top of the newest revision. */
  onSave: (newest: number) => void;
  /** Drops the edit. */
  onTake: () => void;
  /** Writes the edit as an item of its own. */
  onAdd: () => void;
}

/** Someone wrote to the dataset while an item was edited. */
export function ItemConflictDialog(props: Props) {
  const { dataset, before, content, saving, error, onClose, onSave, onTake, onAdd } = props;
  const [opened] = useState(() => Date.now());
  const query = useQuery({
    queryKey: keys.dataset.conflict(before.id, opened),
    queryFn: async ({ signal }) => {
      const { revision } = await fetchDataset(dataset.id, signal);
      try {
        return { revision, item: await fetchItem(dataset.id, before.id, revision, signal) };
      } catch (failure) {
        if (failure instanceof ApiError && failure.status === 404) return { revision, item: null };
        throw failure;
      }
    },
    gcTime: 0,
  });
  return (
    <Dialog onClose={onClose} title="The dataset changed while you edited" size="xl">
      <QueryState query={query} skeleton={<Skeleton h={160} />}>
        {({ revision, item }) => {
          const isSame = item !== null && itemChanges(before, item).length === 0;
          return (
            <Stack gap="md">
              <Text size="sm" data-testid="conflict">
                {item === null
                  ? `Someone removed this item before revision ${revision}. Your changes are not saved yet. You can add them as a new item.`
                  : isSame
                    ? `The dataset is at revision ${revision} now. This item is as you opened it, so you can save your changes.`
                    : `Someone changed this item too; the dataset is at revision ${revision} now. This is what saving your changes would do to their item:`}
              </Text>
              {item !== null && !isSame && (
                <Changes
                  changes={itemChanges(item, merged(before, item, content))}
                  before={`revision ${revision}`}
                  after="your changes"
                />
              )}
              {error && <ProblemPanel error={error} />}
              <Group justify="flex-end">
                <Button variant="subtle" color="gray" onClick={onTake}>
                  Discard my changes
                </Button>
                <Button variant="default" onClick={onClose} data-autofocus>
                  Keep editing
                </Button>
                {item === null ? (
                  <Button loading={saving} onClick={onAdd}>
                    Add as a new item
                  </Button>
                ) : (
                  <Button loading={saving} onClick={() => onSave(revision)}>
                    {isSame ? "Save" : "Save over it"}
                  </Button>
                )}
              </Group>
            </Stack>
          );
        }}
      </QueryState>
    </Dialog>
  );
}

/** What a save makes of their item: members that were not edited stay theirs. */
function merged(before: ItemContent, theirs: ItemContent, edited: ItemContent): ItemContent {
  const paths = new Set(itemChanges(before, edited).map(({ path }) => path));
  const mine = Object.entries(edited).filter(([name]) => paths.has(name));
  return { ...theirs, ...Object.fromEntries(mine) };
}
