import {
  useCancelComparison,
  useDeleteComparison,
  useRenameComparison,
  useRerunComparison,
} from "@/api/comparisons";
import type { Comparison } from "@/api/types";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { costText, progressText } from "@/components/evaluation/progress";
import { RenameDialog } from "@/components/evaluation/RenameDialog";
import { formatCost, formatCountOf } from "@/components/format";

interface Props {
  comparison: Comparison;
  onClose: () => void;
}

export function CancelDialog({ comparison, onClose }: Props) {
  const cancel = useCancelComparison(comparison);
  return (
    <ConfirmDialog
      title={`Cancel “${comparison.name}”?`}
      action="Cancel comparison"
      closeLabel="Let it run"
      mutation={cancel}
      onConfirm={() => cancel.mutate(undefined, { onSuccess: onClose })}
      onClose={onClose}
    >
      {progressText(comparison)}. Calls under way finish and are charged. Stored results are kept, and you can
      resume it later.
    </ConfirmDialog>
  );
}

export function DeleteDialog({ comparison, onClose, onDeleted }: Props & { onDeleted: () => void }) {
  const remove = useDeleteComparison(comparison);
  return (
    <ConfirmDialog
      title={`Delete “${comparison.name}”?`}
      action="Delete comparison"
      mutation={remove}
      onConfirm={() => remove.mutate(undefined, { onSuccess: onDeleted })}
      onClose={onClose}
    >
      Its result, {formatCountOf(comparison.accounting.outputs, "output")} and their scores are deleted for
      good. The recorded runs and the dataset are kept.
    </ConfirmDialog>
  );
}

export function RerunDialog({ comparison, onClose, onStarted }: Props & { onStarted: (id: string) => void }) {
  const rerun = useRerunComparison(comparison);
  const { max_cost_usd: cap } = comparison;
  return (
    <ConfirmDialog
      title={`Run “${comparison.name}” again?`}
      action="Run again"
      destructive={false}
      mutation={rerun}
      onConfirm={() =>
        rerun.mutate(undefined, {
          onSuccess: ({ id }) => {
            onClose();
            onStarted(id);
          },
        })
      }
      onClose={onClose}
    >
      Starts a new comparison with the same configurations, revision, graders, judges and order of items. This
      one cost: {costText(comparison.cost)}.{" "}
      {cap === null ? "There is no cap." : `The cap is ${formatCost(cap)}.`}
    </ConfirmDialog>
  );
}

export function RenameComparison({ comparison, onClose }: Props) {
  const rename = useRenameComparison(comparison);
  return <RenameDialog what="comparison" name={comparison.name} mutation={rename} onClose={onClose} />;
}
