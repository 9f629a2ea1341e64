import { Button, Group, Stack, Text } from "@mantine/core";
import { useRotateKey } from "@/api/keys";
import type { Key, KeyWithSecret } from "@/api/types";
import { Dialog } from "@/components/Dialog";
import { ProblemPanel } from "@/components/ProblemPanel";

interface Props {
  target: Key;
  projectId: string;
  onClose: () => void;
  onRotated: (key: KeyWithSecret) => void;
}

/** Asks once before a key is replaced. */
export function RotateDialog({ target, projectId, onClose, onRotated }: Props) {
  const rotate = useRotateKey(projectId);
  return (
    <Dialog onClose={onClose} title={`Rotate “${target.name}”?`}>
      <Stack gap="md">
        <Text size="sm">
          A new key with the same name, scopes and expiry takes its place; <code>lt_{target.public_id}</code>{" "}
          is revoked at once and refused everywhere within 5 seconds.
        </Text>
        {rotate.isError && <ProblemPanel error={rotate.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} data-autofocus>
            Cancel
          </Button>
          <Button
            loading={rotate.isPending}
            onClick={() => rotate.mutate(target.id, { onSuccess: onRotated })}
          >
            Rotate “{target.name}”
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
