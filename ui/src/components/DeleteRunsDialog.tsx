import { Button, Group, Progress, Skeleton, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { type Doomed, useDeleteRuns, useDeletionCount } from "@/api/deletion";
import { Dialog } from "./Dialog";
import { formatCount } from "./format";
import { ProblemPanel } from "./ProblemPanel";

interface Props {
  projectId: string;
  doomed: Doomed;
  /** What goes, in words: `the run “planner”`. */
  what: string;
  onClose: () => void;
  onDeleted: () => void;
}

/** Asks once, with the number of runs, before they are deleted for good; then tells how far it is. */
export function DeleteRunsDialog({ projectId, doomed, what, onClose, onDeleted }: Props) {
  const byFilter = "filter" in doomed;
  const count = useDeletionCount(projectId, doomed);
  const [gone, setGone] = useState(0);
  const remove = useDeleteRuns(projectId, setGone);
  const total = byFilter ? count.data?.matched : doomed.run_ids.length;
  const runs = total === undefined ? "runs" : total === 1 ? "1 run" : `${formatCount(total)} runs`;
  const start = () =>
    remove.mutate({ doomed, asOf: byFilter ? count.data?.as_of : undefined }, { onSuccess: onDeleted });
  // However it is closed: what is deleted already must go from the list.
  const close = gone > 0 ? onDeleted : onClose;
  return (
    <Dialog
      onClose={remove.isPending ? () => undefined : close}
      title={`Delete ${what}?`}
      withCloseButton={!remove.isPending}
    >
      <Stack gap="md">
        {byFilter && count.isPending ? (
          <Skeleton height={20} aria-label="Counting" />
        ) : count.isError ? (
          <ProblemPanel error={count.error} onRetry={() => count.refetch()} />
        ) : (
          <Text size="sm" data-testid="deletion">
            {total === 0
              ? "No run is left that matches."
              : `${runs} with all spans, messages and scores will be deleted for good. This cannot be undone.`}
          </Text>
        )}
        {remove.isPending && total !== undefined && total > 1 && (
          <>
            <Progress value={(100 * gone) / total} aria-label="Deleted" />
            <Text size="xs" c="dimmed" role="status">
              {formatCount(gone)} of {formatCount(total)} deleted
            </Text>
          </>
        )}
        {remove.isError && (
          <>
            <ProblemPanel error={remove.error} />
            {gone > 0 && (
              <Text size="sm">{formatCount(gone)} are deleted already; the others are still there.</Text>
            )}
          </>
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={close} disabled={remove.isPending} data-autofocus>
            {gone > 0 ? "Close" : "Cancel"}
          </Button>
          <Button color="red.9" loading={remove.isPending} disabled={!total} onClick={start}>
            Delete {runs}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
