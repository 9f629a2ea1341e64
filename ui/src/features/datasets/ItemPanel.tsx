import { ActionIcon, Button, Group, Skeleton, Stack, Text, Tooltip } from "@mantine/core";
import { IconChevronLeft, IconChevronRight, IconPencil, IconTrash } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { fetchDataset, fetchItem, useAddItem, useDatasetItem, useUpdateItem } from "@/api/datasets";
import { ApiError } from "@/api/problem";
import type { Dataset, DatasetItem, DatasetItemWrite } from "@/api/types";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { SidePanel } from "@/components/Dialog";
import { ProblemPanel } from "@/components/ProblemPanel";
import { QueryState } from "@/components/QueryState";
import { ItemConflictDialog } from "./ItemConflictDialog";
import { ItemContent } from "./ItemContent";
import { ItemForm } from "./ItemForm";
import { draftOf, editedMembers, emptyDraft, type ItemDraft, isEdited, readDraft } from "./itemDraft";
import type { KnownValues } from "./knownValues";
import { RemoveItemDialog } from "./RemoveItemDialog";

interface PanelProps {
  dataset: Dataset;
  known: KnownValues;
  onClose: () => void;
  /** Shows another item. */
  onOpen: (itemId: string) => void;
}

/** Asks before edits are lost. */
function useUnsavedChanges(isDirty: boolean) {
  const [pending, setPending] = useState<(() => void) | null>(null);
  const confirmFirst = (act: () => void) => () => (isDirty ? setPending(() => act) : act());
  const confirmation = pending && (
    <ConfirmDialog
      title="Discard your changes?"
      action="Discard changes"
      closeLabel="Keep editing"
      mutation={{ isPending: false, error: null }}
      onConfirm={() => {
        setPending(null);
        pending();
      }}
      onClose={() => setPending(null)}
    >
      The item has changes that are not saved.
    </ConfirmDialog>
  );
  return { confirmFirst, confirmation };
}

const SIZE = "min(860px, 100vw)";

/** Writes a new item. */
export function NewItemPanel({ dataset, known, onClose, onOpen }: PanelProps) {
  const add = useAddItem(dataset);
  const [draft, setDraft] = useState<ItemDraft>(emptyDraft);
  const [note, setNote] = useState("");
  const { confirmFirst, confirmation } = useUnsavedChanges(isEdited(emptyDraft, draft));
  const submit = () => {
    const { content } = readDraft(draft);
    add.mutate(
      { ...newItem(content), note: note.trim() || undefined },
      { onSuccess: ({ id }) => onOpen(id) },
    );
  };
  return (
    <SidePanel title="New item" size={SIZE} onClose={confirmFirst(onClose)}>
      <ItemForm
        draft={draft}
        onChange={(changed) => {
          add.reset();
          setDraft(changed);
        }}
        note={note}
        onNote={setNote}
        known={known}
        error={add.error}
        isPending={add.isPending}
        action="Add item"
        isDirty
        onSubmit={submit}
        onCancel={confirmFirst(onClose)}
      />
      {confirmation}
    </SidePanel>
  );
}

/** The body of a request for a new item. Absent members have no value. */
function newItem({ key, split, ...content }: ReturnType<typeof readDraft>["content"]): DatasetItemWrite {
  return { ...content, ...(key !== null && { key }), ...(split !== null && { split }) };
}

interface ItemPanelProps extends PanelProps {
  itemId: string;
  /** The revision that is read; undefined for the newest. */
  revision: number | undefined;
  /** The items in the list, in its order. */
  listed: readonly DatasetItem[];
  mayEdit: boolean;
}

/** What is edited, and what it was when the edit began. */
interface Edit {
  before: DatasetItem;
  /** The revision that `before` was read at. */
  base: number;
  draft: ItemDraft;
}

/** One item of a dataset, to read and to edit. */
export function ItemPanel(props: ItemPanelProps) {
  const { dataset, known, itemId, revision, listed, mayEdit, onClose, onOpen } = props;
  const query = useDatasetItem(dataset.id, itemId, revision);
  const item = query.data ?? (query.error ? undefined : listed.find(({ id }) => id === itemId));
  const update = useUpdateItem(dataset);
  const add = useAddItem(dataset);
  const [edit, setEdit] = useState<Edit | null>(null);
  const [note, setNote] = useState("");
  const [saved, setSaved] = useState<string | null>(null);
  const [isDeleting, setDeleting] = useState(false);
  // The item and the revision of the dataset belong together.
  const begin = useMutation({
    mutationFn: async () => {
      const { revision: base } = await fetchDataset(dataset.id);
      return { base, before: await fetchItem(dataset.id, itemId, base) };
    },
    onSuccess: ({ base, before }) => {
      setSaved(null);
      setNote("");
      update.reset();
      setEdit({ base, before, draft: draftOf(before) });
    },
  });
  const { confirmFirst, confirmation } = useUnsavedChanges(
    edit !== null && isEdited(draftOf(edit.before), edit.draft),
  );
  const isConflict = update.error instanceof ApiError && update.error.problem?.code === "stale_base_revision";

  const save = (base: number) => {
    if (!edit) return;
    const members = editedMembers(draftOf(edit.before), edit.draft);
    update.mutate(
      { itemId, ...members, note: note.trim() || undefined, base_revision: base },
      {
        onSuccess: ({ revision_added: made }) => {
          setEdit(null);
          setSaved(made > base ? `Saved in revision ${made}.` : "Nothing changed.");
        },
      },
    );
  };
  const at = listed.findIndex(({ id }) => id === itemId);
  return (
    <SidePanel
      size={SIZE}
      onClose={confirmFirst(onClose)}
      title={
        <Group gap={6} wrap="nowrap">
          <Step
            label="Previous item"
            icon={IconChevronLeft}
            to={listed[at - 1]}
            onOpen={onOpen}
            confirmFirst={confirmFirst}
          />
          <Step
            label="Next item"
            icon={IconChevronRight}
            to={at < 0 ? undefined : listed[at + 1]}
            onOpen={onOpen}
            confirmFirst={confirmFirst}
          />
          <span>{item ? (item.key ?? "Item without a key") : "Item"}</span>
        </Group>
      }
    >
      {edit ? (
        <ItemForm
          draft={edit.draft}
          onChange={(draft) => {
            update.reset();
            setEdit({ ...edit, draft });
          }}
          note={note}
          onNote={setNote}
          known={known}
          error={isConflict ? null : update.error}
          isPending={update.isPending}
          action="Save"
          isDirty={isEdited(draftOf(edit.before), edit.draft)}
          onSubmit={() => save(edit.base)}
          onCancel={confirmFirst(() => setEdit(null))}
        />
      ) : (
        <QueryState query={{ ...query, data: item }} skeleton={<Skeleton h={240} />}>
          {(shown) => (
            <Stack gap="md">
              {mayEdit && (
                <Group gap="xs">
                  <Button
                    variant="default"
                    leftSection={<IconPencil size={14} />}
                    loading={begin.isPending}
                    onClick={() => begin.mutate()}
                  >
                    Edit
                  </Button>
                  <Button
                    variant="default"
                    leftSection={<IconTrash size={14} />}
                    onClick={() => setDeleting(true)}
                  >
                    Remove…
                  </Button>
                  {saved && (
                    <Text size="sm" role="status">
                      {saved}
                    </Text>
                  )}
                </Group>
              )}
              {begin.error && <ProblemPanel error={begin.error} />}
              <ItemContent item={shown} dataset={dataset} />
            </Stack>
          )}
        </QueryState>
      )}
      {confirmation}
      {isDeleting && item && (
        <RemoveItemDialog
          dataset={dataset}
          item={item}
          onClose={() => setDeleting(false)}
          onRemoved={onClose}
        />
      )}
      {isConflict && edit && (
        <ItemConflictDialog
          dataset={dataset}
          before={edit.before}
          content={readDraft(edit.draft).content}
          saving={update.isPending || add.isPending}
          error={add.error}
          onClose={() => update.reset()}
          onSave={(newest) => save(newest)}
          onTake={() => {
            update.reset();
            setEdit(null);
            void query.refetch();
          }}
          onAdd={() =>
            add.mutate(newItem(readDraft(edit.draft).content), {
              onSuccess: ({ id }) => onOpen(id),
            })
          }
        />
      )}
    </SidePanel>
  );
}

interface StepProps {
  label: string;
  icon: typeof IconChevronLeft;
  to: DatasetItem | undefined;
  onOpen: (itemId: string) => void;
  confirmFirst: (act: () => void) => () => void;
}

function Step({ label, icon: Shape, to, onOpen, confirmFirst }: StepProps) {
  return (
    <Tooltip label={label}>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={label}
        disabled={!to}
        onClick={confirmFirst(() => to && onOpen(to.id))}
      >
        <Shape size={16} />
      </ActionIcon>
    </Tooltip>
  );
}
