import { Button, Group, Stack, Text } from "@mantine/core";
import { CopyButton } from "./CopyButton";
import { Dialog } from "./Dialog";
import classes from "./SecretDialog.module.css";

interface Props {
  title: string;
  secret: string;
  /** Names the secret: "key" gives "Copy key". */
  what: string;
  testId: string;
  onClose: () => void;
  /** What to do with the secret. */
  children?: React.ReactNode;
}

/** Shows a new key or link. It can't be shown again. */
export function SecretDialog({ title, secret, what, testId, onClose, children }: Props) {
  return (
    <Dialog onClose={onClose} title={title} size="lg" closeOnClickOutside={false}>
      <Stack gap="sm">
        <Text size="sm">
          <strong>Copy it now:</strong> it won't be shown again.
        </Text>
        {children && <Text size="sm">{children}</Text>}
        <div className={classes.secret} data-testid={testId}>
          {secret}
        </div>
        <Group justify="flex-end">
          <CopyButton value={secret} what={what} labelled />
          <Button onClick={onClose}>Done</Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
