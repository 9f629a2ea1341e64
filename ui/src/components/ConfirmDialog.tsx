import { Button, Group, Stack, Text } from "@mantine/core";
import { Dialog } from "./Dialog";
import { ProblemPanel } from "./ProblemPanel";

interface Props {
  /** A question that names what is affected: "Delete the view “Errors”?" */
  title: string;
  /** What the button says: "Delete view". */
  action: string;
  mutation: { isPending: boolean; error: Error | null };
  onConfirm: () => void;
  onClose: () => void;
  /** Makes the button red. True by default. */
  destructive?: boolean;
  disabled?: boolean;
  closeLabel?: string;
  /** The consequences. */
  children: React.ReactNode;
}

/** Asks once before something is deleted or replaced. It stays open until the action has ended. */
export function ConfirmDialog(props: Props) {
  const { title, action, mutation, onConfirm, onClose, children } = props;
  const { destructive = true, disabled = false, closeLabel = "Cancel" } = props;
  return (
    <Dialog
      onClose={mutation.isPending ? () => undefined : onClose}
      title={title}
      withCloseButton={!mutation.isPending}
    >
      <Stack gap="md">
        <Text size="sm" component="div">
          {children}
        </Text>
        {mutation.error && <ProblemPanel error={mutation.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} disabled={mutation.isPending} data-autofocus>
            {closeLabel}
          </Button>
          <Button
            color={destructive ? "red.9" : undefined}
            loading={mutation.isPending}
            disabled={disabled}
            onClick={onConfirm}
          >
            {action}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
