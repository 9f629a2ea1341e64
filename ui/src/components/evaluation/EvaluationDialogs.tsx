import { useNavigate } from "react-router";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { RenameDialog } from "./RenameDialog";

interface Mutation<Result> {
  isPending: boolean;
  error: Error | null;
  mutate: (variables: undefined, options: { onSuccess: (result: Result) => void }) => void;
}

interface Props {
  /** The dialog that is open. It shows nothing for any other than "rename", "cancel" and "delete". */
  open: string | null;
  /** "comparison". */
  what: string;
  name: string;
  rename: Parameters<typeof RenameDialog>[0]["mutation"] & { reset: () => void };
  cancel: Mutation<unknown> & { reset: () => void };
  /** What a cancellation does. */
  cancelText: React.ReactNode;
  remove: Mutation<unknown> & { reset: () => void };
  /** What is deleted, and what is kept. */
  removeText: React.ReactNode;
  /** The page of the list, which is shown after a deletion. */
  list: string;
  onClose: () => void;
}

/** Renames, cancels or deletes a comparison, an eval-run, a replay or a batch. */
export function EvaluationDialogs({ open, what, name, list, ...props }: Props) {
  const navigate = useNavigate();
  const { rename, cancel, cancelText, remove, removeText } = props;
  const onClose = () => {
    // An error is not that of the next dialog.
    for (const mutation of [rename, cancel, remove]) mutation.reset();
    props.onClose();
  };
  switch (open) {
    case "rename":
      return <RenameDialog what={what} name={name} mutation={rename} onClose={onClose} />;
    case "cancel":
      return (
        <ConfirmDialog
          title={`Cancel “${name}”?`}
          action={`Cancel ${what}`}
          closeLabel="Let it run"
          mutation={cancel}
          onConfirm={() => cancel.mutate(undefined, { onSuccess: onClose })}
          onClose={onClose}
        >
          {cancelText}
        </ConfirmDialog>
      );
    case "delete":
      return (
        <ConfirmDialog
          title={`Delete “${name}”?`}
          action={`Delete ${what}`}
          mutation={remove}
          onConfirm={() => remove.mutate(undefined, { onSuccess: () => navigate(list, { replace: true }) })}
          onClose={onClose}
        >
          {removeText}
        </ConfirmDialog>
      );
    default:
      return null;
  }
}

interface RerunProps {
  name: string;
  mutation: Mutation<{ id: string }>;
  onStarted: (id: string) => void;
  onClose: () => void;
  /** The consequences. */
  children: React.ReactNode;
}

export function RerunDialog({ name, mutation, onClose, onStarted, children }: RerunProps) {
  return (
    <ConfirmDialog
      title={`Run “${name}” again?`}
      action="Run again"
      destructive={false}
      mutation={mutation}
      onConfirm={() =>
        mutation.mutate(undefined, {
          onSuccess: ({ id }) => {
            onClose();
            onStarted(id);
          },
        })
      }
      onClose={onClose}
    >
      {children}
    </ConfirmDialog>
  );
}
