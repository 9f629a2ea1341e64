import {
  useCancelReplayBatch,
  useDeleteReplayBatch,
  useExtendReplayBatch,
  useRenameReplayBatch,
} from "@/api/replayBatches";
import type { ReplayBatch } from "@/api/types";
import { CancelDialog, DeleteDialog } from "@/components/evaluation/EvaluationDialogs";
import { costText, hasKnownCost } from "@/components/evaluation/progress";
import { RenameDialog } from "@/components/evaluation/RenameDialog";
import { formatCountOf } from "@/components/format";
import { missingOf, replayableRuns } from "./batches";
import { ExtendForm } from "./Dialogs";
import { MOST_ATTEMPTS_OF_RUN } from "./newBatch";
import { progressText } from "./words";

interface Props {
  batch: ReplayBatch;
  onClose: () => void;
}

export function RenameBatch({ batch, onClose }: Props) {
  const rename = useRenameReplayBatch(batch);
  return <RenameDialog what="batch" name={batch.name} mutation={rename} onClose={onClose} />;
}

export function CancelBatch({ batch, onClose }: Props) {
  const cancel = useCancelReplayBatch(batch);
  return (
    <CancelDialog what="batch" name={batch.name} mutation={cancel} onClose={onClose}>
      {progressText(batch)}, cost so far: {costText(batch.cost)}. Attempts that ended are kept and give the
      result. You can run the missing ones later.
    </CancelDialog>
  );
}

export function DeleteBatch({ batch, onClose, onDeleted }: Props & { onDeleted: () => void }) {
  const remove = useDeleteReplayBatch(batch);
  return (
    <DeleteDialog what="batch" name={batch.name} mutation={remove} onClose={onClose} onDeleted={onDeleted}>
      Its edits, its result and its {formatCountOf(replayableRuns(batch), "replay")} are deleted for good. The
      recorded runs and the runs of {formatCountOf(batch.progress.done, "attempt")} are kept.
    </DeleteDialog>
  );
}

/** Makes more attempts of each run, or those that are missing. */
export function ExtendBatch({ batch, onClose }: Props) {
  const extend = useExtendReplayBatch(batch);
  const { cost, progress } = batch;
  const isKnown = progress.done > 0 && cost.calls > 0 && hasKnownCost(cost);
  return (
    <ExtendForm
      of={batch}
      runs={replayableRuns(batch)}
      most={MOST_ATTEMPTS_OF_RUN}
      missing={missingOf(batch)}
      meanCost={isKnown ? cost.usd / progress.done : null}
      mutation={extend}
      onClose={onClose}
    />
  );
}
