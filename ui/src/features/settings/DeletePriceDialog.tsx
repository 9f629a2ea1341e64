import { Button, Group, Stack, Text } from "@mantine/core";
import { useDeletePrice } from "@/api/prices";
import type { Price } from "@/api/types";
import { Dialog } from "@/components/Dialog";
import { ProblemPanel } from "@/components/ProblemPanel";

interface Props {
  target: Price;
  projectId: string;
  onClose: () => void;
}

/** Asks once before a price of the project's own goes. */
export function DeletePriceDialog({ target, projectId, onClose }: Props) {
  const remove = useDeletePrice(projectId);
  return (
    <Dialog onClose={onClose} title={`Delete the price of “${target.model}”?`}>
      <Stack gap="md">
        <Text size="sm">
          Spans that arrive from now on have the price of the table, or no cost where the table does not know
          the model. Stored spans keep theirs.
        </Text>
        {remove.isError && <ProblemPanel error={remove.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} data-autofocus>
            Cancel
          </Button>
          <Button
            color="red.9"
            loading={remove.isPending}
            onClick={() => target.id && remove.mutate(target.id, { onSuccess: onClose })}
          >
            Delete price
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
