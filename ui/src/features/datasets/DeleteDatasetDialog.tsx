import { Stack, TextInput } from "@mantine/core";
import { useState } from "react";
import { useDeleteDataset } from "@/api/datasets";
import type { Dataset } from "@/api/types";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { formatCount } from "@/components/format";
import { formatItems } from "./revisions";

interface Props {
  dataset: Dataset;
  onClose: () => void;
  onDeleted: () => void;
}

/** Asks before a dataset is deleted, and names what goes with it. */
export function DeleteDatasetDialog({ dataset, onClose, onDeleted }: Props) {
  const { name, item_count: items, revision: revisions } = dataset;
  const remove = useDeleteDataset(dataset);
  const [typed, setTyped] = useState("");
  return (
    <ConfirmDialog
      title={`Delete the dataset “${name}”?`}
      action="Delete dataset"
      mutation={remove}
      disabled={items > 0 && typed !== name}
      onConfirm={() => remove.mutate(undefined, { onSuccess: onDeleted })}
      onClose={onClose}
    >
      <Stack gap="sm">
        <div data-testid="dataset-contents">
          This deletes{" "}
          {revisions === 0
            ? "a dataset without items."
            : `${formatItems(items)} and ${revisions === 1 ? "the revision" : `all ${formatCount(revisions)} revisions`}.`}{" "}
          You can't undo this.
        </div>
        {items > 0 && (
          <TextInput
            label={`Type ${name} to confirm`}
            autoComplete="off"
            spellCheck={false}
            maxLength={128}
            value={typed}
            onChange={(event) => {
              if (remove.isError) remove.reset();
              setTyped(event.currentTarget.value);
            }}
          />
        )}
      </Stack>
    </ConfirmDialog>
  );
}
