import { Progress, Skeleton, Text } from "@mantine/core";
import { useState } from "react";
import { type DeletionTarget, useDeleteRuns, useDeletionCount } from "@/api/deletion";
import { ConfirmDialog } from "./ConfirmDialog";
import { formatCount, formatRuns } from "./format";
import { ProblemPanel } from "./ProblemPanel";

interface Props {
  projectId: string;
  target: DeletionTarget;
  /** Names what is deleted: “planner”. */
  name: string;
  onClose: () => void;
  onDeleted: () => void;
}

/** Asks for confirmation with the number of runs, then deletes them and shows the progress. */
export function DeleteRunsDialog({ projectId, target, name, onClose, onDeleted }: Props) {
  const byFilter = "filter" in target;
  const count = useDeletionCount(projectId, target);
  const [deleted, setDeleted] = useState(0);
  const remove = useDeleteRuns(projectId, setDeleted);
  const total = byFilter ? count.data?.matched : target.run_ids.length;
  const runs = total === undefined ? "runs" : formatRuns(total);
  return (
    <ConfirmDialog
      title={`Delete ${name}?`}
      action={`Delete ${runs}`}
      mutation={remove}
      onConfirm={() =>
        remove.mutate({ target, asOf: byFilter ? count.data?.as_of : undefined }, { onSuccess: onDeleted })
      }
      // The list must drop the runs that are deleted already.
      onClose={deleted > 0 ? onDeleted : onClose}
      closeLabel={deleted > 0 ? "Close" : "Cancel"}
      disabled={!total}
    >
      {byFilter && count.isPending ? (
        <Skeleton height={20} aria-label="Counting" />
      ) : count.isError ? (
        <ProblemPanel error={count.error} onRetry={() => count.refetch()} />
      ) : (
        <span data-testid="deletion">
          {total === 0
            ? "No runs match anymore."
            : `This deletes ${runs} with all spans, messages and scores. You can't undo this.`}
        </span>
      )}
      {total !== undefined && total > 1 && (remove.isPending || deleted > 0) && (
        <>
          <Progress mt="md" value={(100 * deleted) / total} aria-label="Deleted" />
          <Text size="xs" c="dimmed" role="status">
            {formatCount(deleted)} of {formatCount(total)} deleted
          </Text>
        </>
      )}
    </ConfirmDialog>
  );
}
