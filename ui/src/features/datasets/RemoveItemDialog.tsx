import { useDeleteItem } from "@/api/datasets";
import type { Dataset, DatasetItem } from "@/api/types";
import { ConfirmDialog } from "@/components/ConfirmDialog";

interface Props {
  dataset: Dataset;
  item: Pick<DatasetItem, "id" | "key">;
  onClose: () => void;
  onRemoved: () => void;
}

/** Asks before an item is removed, in a new revision. */
export function RemoveItemDialog({ dataset, item, onClose, onRemoved }: Props) {
  const remove = useDeleteItem(dataset);
  return (
    <ConfirmDialog
      title={item.key === null ? "Remove this item?" : `Remove the item “${item.key}”?`}
      action="Remove item"
      mutation={remove}
      onConfirm={() => remove.mutate(item.id, { onSuccess: onRemoved })}
      onClose={onClose}
    >
      This creates a new revision without the item. Earlier revisions keep it.
    </ConfirmDialog>
  );
}
