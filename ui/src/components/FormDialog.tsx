import { Button, Group, Stack } from "@mantine/core";
import { Dialog } from "./Dialog";
import { ProblemPanel } from "./ProblemPanel";

interface Props {
  title: string;
  /** What the button says: "Create key". */
  action: string;
  mutation: { isPending: boolean; error: Error | null };
  onSubmit: () => void;
  onClose: () => void;
  disabled?: boolean;
  /** The fields show the error themselves. */
  hideError?: boolean;
  size?: "md" | "lg";
  /** The fields. The first one has `data-autofocus`. */
  children: React.ReactNode;
}

/** A form in a dialog. */
export function FormDialog(props: Props) {
  const { title, action, mutation, onSubmit, onClose, disabled, hideError, size, children } = props;
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    onSubmit();
  };
  return (
    <Dialog onClose={onClose} title={title} size={size}>
      <form onSubmit={submit}>
        <Stack gap="md">
          {children}
          {mutation.error && !hideError && <ProblemPanel error={mutation.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={mutation.isPending} disabled={disabled}>
              {action}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
