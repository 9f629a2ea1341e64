import { ConfirmDialog } from "@/components/ConfirmDialog";

interface Props<Result> {
  /** "comparison". */
  what: string;
  name: string;
  mutation: {
    isPending: boolean;
    error: Error | null;
    mutate: (variables: undefined, options: { onSuccess: (result: Result) => void }) => void;
  };
  onClose: () => void;
  /** The consequences. */
  children: React.ReactNode;
}

export function CancelDialog({ what, name, mutation, onClose, children }: Props<unknown>) {
  return (
    <ConfirmDialog
      title={`Cancel “${name}”?`}
      action={`Cancel ${what}`}
      closeLabel="Let it run"
      mutation={mutation}
      onConfirm={() => mutation.mutate(undefined, { onSuccess: onClose })}
      onClose={onClose}
    >
      {children}
    </ConfirmDialog>
  );
}

interface DeleteProps extends Props<unknown> {
  onDeleted: () => void;
}

export function DeleteDialog({ what, name, mutation, onClose, onDeleted, children }: DeleteProps) {
  return (
    <ConfirmDialog
      title={`Delete “${name}”?`}
      action={`Delete ${what}`}
      mutation={mutation}
      onConfirm={() => mutation.mutate(undefined, { onSuccess: onDeleted })}
      onClose={onClose}
    >
      {children}
    </ConfirmDialog>
  );
}

interface RerunProps extends Omit<Props<{ id: string }>, "what"> {
  onStarted: (id: string) => void;
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
