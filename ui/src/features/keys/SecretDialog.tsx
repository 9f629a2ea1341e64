import { Button, Group, Stack, Text } from "@mantine/core";
import type { KeyWithSecret } from "@/api/types";
import { CopyButton } from "@/components/CopyButton";
import { Dialog } from "@/components/Dialog";
import classes from "./SecretDialog.module.css";

/** Shows a new key. It can't be shown again. */
export function SecretDialog({ created, onClose }: { created: KeyWithSecret; onClose: () => void }) {
  return (
    <Dialog onClose={onClose} title={`Key “${created.name}”`} size="lg" closeOnClickOutside={false}>
      <Stack gap="sm">
        <Text size="sm">
          <strong>Copy it now:</strong> it won't be shown again.
        </Text>
        <div className={classes.secret} data-testid="key-secret">
          {created.key}
        </div>
        <Group justify="flex-end">
          <CopyButton value={created.key} what="key" labelled />
          <Button onClick={onClose}>Done</Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
