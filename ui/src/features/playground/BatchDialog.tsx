import { Button, Group, NumberInput, Stack, Text } from "@mantine/core";
import { useState } from "react";
import type { Dataset } from "@/api/types";
import { DatasetChoice } from "@/components/DatasetChoice";
import { Dialog } from "@/components/Dialog";
import { numberMistake } from "@/components/formErrors";
import { BatchView } from "./BatchView";
import { MAX_ITEMS } from "./batch";
import { type BatchStart, batches, useBatches } from "./batches";

interface Props extends Pick<BatchStart, "owner" | "column" | "variables" | "prepare"> {
  projectId: string;
  onClose: () => void;
}

/** Runs a column over the first items of a dataset. */
export function BatchDialog({ projectId, onClose, ...start }: Props) {
  const { owner, column, variables } = start;
  const [dataset, setDataset] = useState<Dataset | null>(null);
  const [count, setCount] = useState<number | string>(5);
  const [startedId, setStartedId] = useState<string>();
  const batch = useBatches(owner).find(({ id }) => id === startedId);
  const mistake =
    numberMistake(count, true) ??
    (Number(count) < 1 || Number(count) > MAX_ITEMS ? `from 1 to ${MAX_ITEMS}` : undefined);
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    if (dataset && !mistake) setStartedId(batches.start({ ...start, dataset, count: Number(count) }));
  };
  return (
    <Dialog onClose={onClose} title={`Run ${column.toLowerCase()} over a dataset`} size={1000}>
      <form onSubmit={submit}>
        <Stack gap="sm">
          <Group align="flex-end" gap="sm">
            <div style={{ flex: "1 1 240px" }}>
              <DatasetChoice projectId={projectId} value={dataset} onChange={setDataset} />
            </div>
            <NumberInput
              label="First items"
              w={100}
              min={1}
              max={MAX_ITEMS}
              clampBehavior="none"
              error={mistake}
              value={count}
              onChange={(value) => setCount(typeof value === "bigint" ? Number(value) : value)}
            />
            {batch?.isRunning ? (
              <Button variant="default" onClick={() => batches.cancel(batch.id)}>
                Cancel
              </Button>
            ) : (
              <Button type="submit" disabled={!dataset || mistake !== undefined}>
                Run
              </Button>
            )}
          </Group>
          <Text size="xs" c="dimmed">
            {variables.length === 0
              ? "The messages have no variables, so each item gets the same request."
              : `Each item's input gives ${variables.join(", ")}.`}
          </Text>
          {batch && <BatchView projectId={projectId} batch={batch} />}
        </Stack>
      </form>
    </Dialog>
  );
}
