import { useState } from "react";
import { useDeleteFinding, useUpdateFinding } from "@/api/findings";
import type { Finding } from "@/api/types";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { FormDialog } from "@/components/FormDialog";
import { StatusFields } from "./KeepFinding";

interface Props {
  finding: Finding;
  onClose: () => void;
}

/** Changes the status and the note. */
export function EditFinding({ finding, onClose }: Props) {
  const update = useUpdateFinding(finding);
  const [status, setStatus] = useState(finding.status);
  const [note, setNote] = useState(finding.note ?? "");
  return (
    <FormDialog
      title="Change the finding"
      action="Save"
      mutation={update}
      onSubmit={() => update.mutate({ status, note }, { onSuccess: onClose })}
      onClose={onClose}
    >
      <StatusFields status={status} note={note} onStatus={setStatus} onNote={setNote} />
    </FormDialog>
  );
}

export function DeleteFinding({ finding, onClose }: Props) {
  const remove = useDeleteFinding(finding);
  return (
    <ConfirmDialog
      title={`Delete the finding “${finding.candidate.title}”?`}
      action="Delete finding"
      mutation={remove}
      onConfirm={() => remove.mutate(undefined, { onSuccess: onClose })}
      onClose={onClose}
    >
      Its status and its note are deleted for good. The batch of replays, and the version and the dataset that
      it was promoted to, are kept.
    </ConfirmDialog>
  );
}
