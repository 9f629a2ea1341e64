import { Textarea, TextInput } from "@mantine/core";
import { useState } from "react";
import { useUpdateDataset } from "@/api/datasets";
import { ApiError } from "@/api/problem";
import type { Dataset } from "@/api/types";
import { FormDialog } from "@/components/FormDialog";

/** Changes the name and the description of a dataset. */
export function DetailsDialog({ dataset, onClose }: { dataset: Dataset; onClose: () => void }) {
  const update = useUpdateDataset(dataset);
  const [name, setName] = useState(dataset.name);
  const [description, setDescription] = useState(dataset.description);
  const problem = update.error instanceof ApiError ? update.error : null;
  const isTaken = problem?.problem?.code === "name_taken";
  return (
    <FormDialog
      title={dataset.name}
      action="Save"
      mutation={update}
      disabled={name.trim() === ""}
      hideError={isTaken}
      onSubmit={() =>
        update.mutate({ name: name.trim(), description: description.trim() }, { onSuccess: onClose })
      }
      onClose={onClose}
    >
      <TextInput
        label="Name"
        required
        withAsterisk={false}
        data-autofocus
        autoComplete="off"
        spellCheck={false}
        maxLength={128}
        value={name}
        onChange={(event) => {
          update.reset();
          setName(event.currentTarget.value);
        }}
        error={
          isTaken ? "This project already has a dataset with this name." : problem?.fieldMessage("body.name")
        }
      />
      <Textarea
        label="Description"
        autosize
        minRows={2}
        maxRows={8}
        maxLength={2000}
        value={description}
        onChange={(event) => setDescription(event.currentTarget.value)}
      />
    </FormDialog>
  );
}
