import { Button, Group, Stack, Text } from "@mantine/core";
import { useRevokeKey } from "@/api/keys";
import type { Key } from "@/api/types";
import { Dialog } from "@/components/Dialog";
import { ProblemPanel } from "@/components/ProblemPanel";

interface Props {
  target: Key;
  projectId: string;
  onClose: () => void;
}

/** Asks once before a key ends. */
export function RevokeDialog({ target, projectId, onClose }: Props) {
  const revoke = useRevokeKey(projectId);
  return (
    <Dialog onClose={onClose} title={`Revoke “${target.name}”?`}>
      <Stack gap="md">
        <Text size="sm">
          Programs that use <code>lt_{target.public_id}</code> are refused within 5 seconds. This cannot be
          undone.
        </Text>
        {revoke.isError && <ProblemPanel error={revoke.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} data-autofocus>
            Cancel
          </Button>
          <Button
            color="red.9"
            loading={revoke.isPending}
            onClick={() => revoke.mutate(target.id, { onSuccess: onClose })}
          >
            Revoke “{target.name}”
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
