import { Button, Group, Stack, Text } from "@mantine/core";
import type { KeyWithSecret } from "@/api/types";
import { CopyButton } from "@/components/CopyButton";
import { Dialog } from "@/components/Dialog";
import classes from "./KeysPage.module.css";

/** Shows a new key, the only time. */
export function SecretDialog({ minted, onClose }: { minted: KeyWithSecret; onClose: () => void }) {
  return (
    <Dialog onClose={onClose} title={`Key “${minted.name}”`} size="lg" closeOnClickOutside={false}>
      <Stack gap="sm">
        <Text size="sm">
          <strong>Copy it now:</strong> it is stored hashed and cannot be shown again.
        </Text>
        <div className={classes.secret} data-testid="key-secret">
          {minted.key}
        </div>
        <Group justify="flex-end">
          <CopyButton value={minted.key} what="key" labelled />
          <Button onClick={onClose}>Done</Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
