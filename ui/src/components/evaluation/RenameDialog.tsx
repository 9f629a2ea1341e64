import { TextInput } from "@mantine/core";
import { useState } from "react";
import { ApiError } from "@/api/problem";
import { FormDialog } from "@/components/FormDialog";

interface Props {
  /** What is renamed: "comparison". */
  what: string;
  name: string;
  mutation: {
    isPending: boolean;
    error: Error | null;
    mutate: (name: string, options: { onSuccess: () => void }) => void;
  };
  onClose: () => void;
}

/** Renames a comparison, an eval-run or a replay. */
export function RenameDialog({ what, name: before, mutation, onClose }: Props) {
  const [name, setName] = useState(before);
  const { error } = mutation;
  return (
    <FormDialog
      title={`Rename ${what}`}
      action="Rename"
      mutation={mutation}
      onSubmit={() => mutation.mutate(name.trim(), { onSuccess: onClose })}
      onClose={onClose}
      disabled={name.trim() === ""}
    >
      <TextInput
        label="Name"
        data-autofocus
        maxLength={200}
        autoComplete="off"
        dir="auto"
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        error={error instanceof ApiError ? error.fieldMessage("body.name") : undefined}
      />
    </FormDialog>
  );
}
