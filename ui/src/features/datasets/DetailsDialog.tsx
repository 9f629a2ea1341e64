import { useState } from "react";
import { useUpdateDataset } from "@/api/datasets";
import type { Dataset } from "@/api/types";
import { DescriptionField } from "@/components/DescriptionField";
import { FormDialog } from "@/components/FormDialog";
import { isNameTaken, NameField } from "./NameField";

/** Changes the name and the description of a dataset. */
export function DetailsDialog({ dataset, onClose }: { dataset: Dataset; onClose: () => void }) {
  const update = useUpdateDataset(dataset);
  const [name, setName] = useState(dataset.name);
  const [description, setDescription] = useState(dataset.description);
  return (
    <FormDialog
      title={dataset.name}
      action="Save"
      mutation={update}
      disabled={name.trim() === ""}
      hideError={isNameTaken(update.error)}
      onSubmit={() =>
        update.mutate({ name: name.trim(), description: description.trim() }, { onSuccess: onClose })
      }
      onClose={onClose}
    >
      <NameField
        value={name}
        error={update.error}
        onChange={(value) => {
          update.reset();
          setName(value);
        }}
      />
      <DescriptionField value={description} onChange={setDescription} />
    </FormDialog>
  );
}
