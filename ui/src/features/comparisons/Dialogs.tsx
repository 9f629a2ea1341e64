import { Checkbox, NumberInput } from "@mantine/core";
import { useState } from "react";
import {
  useCancelComparison,
  useDeleteComparison,
  useRenameComparison,
  useRerunComparison,
  useResumeComparison,
} from "@/api/comparisons";
import { ApiError } from "@/api/problem";
import type { Comparison } from "@/api/types";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { costText, progressText } from "@/components/evaluation/progress";
import { RenameDialog } from "@/components/evaluation/RenameDialog";
import { failedVotes, votesCount } from "@/components/evaluation/votes";
import { FormDialog } from "@/components/FormDialog";
import { formatCost, formatCount } from "@/components/format";

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
      {progressText(comparison)}. Calls that are under way end and are paid. What is stored stays, and you can
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
      Its result, {formatCount(comparison.accounting.outputs)} outputs and their scores are deleted for good.
      The recorded runs and the dataset stay.
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
      A new comparison with the same configurations, revision, graders and order of items. This one cost:{" "}
      {costText(comparison.cost)}. {cap === null ? "There is no cap." : `The cap is ${formatCost(cap)}.`}
    </ConfirmDialog>
  );
}

export function RenameComparison({ comparison, onClose }: Props) {
  const rename = useRenameComparison(comparison);
  return <RenameDialog what="comparison" name={comparison.name} mutation={rename} onClose={onClose} />;
}

export function ResumeDialog({ comparison, onClose }: Props) {
  const resume = useResumeComparison(comparison);
  const { accounting, cost, max_cost_usd: cap } = comparison;
  const [retries, setRetries] = useState(accounting.outputs_pending + (accounting.votes?.pending ?? 0) === 0);
  const [newCap, setNewCap] = useState<number | string>(cap ?? "");
  const made = accounting.outputs_pending + (retries ? accounting.outputs_failed : 0);
  const { votes } = accounting;
  const voted = votes ? votes.pending + (retries ? failedVotes(votes) : 0) : 0;
  return (
    <FormDialog
      title={`Resume “${comparison.name}”`}
      action={
        made === 0 && voted > 0
          ? `Make ${votesCount(voted)}`
          : made === 1
            ? "Make 1 output"
            : `Make ${formatCount(made)} outputs`
      }
      mutation={resume}
      onSubmit={() =>
        resume.mutate(
          { retry_failed: retries, ...(newCap !== "" && { max_cost_usd: Number(newCap) }) },
          { onSuccess: onClose },
        )
      }
      onClose={onClose}
      disabled={made + voted === 0}
    >
      <div>
        {formatCount(accounting.outputs_pending)} outputs
        {votes && ` and ${votesCount(votes.pending)}`} are missing. What is stored stays as it is.
      </div>
      <Checkbox
        label={
          votes
            ? `Make the ${formatCount(accounting.outputs_failed)} outputs and ${votesCount(failedVotes(votes))} that failed again, too`
            : `Make the ${formatCount(accounting.outputs_failed)} that failed again, too`
        }
        checked={retries}
        disabled={accounting.outputs_failed + (votes ? failedVotes(votes) : 0) === 0}
        onChange={(event) => setRetries(event.currentTarget.checked)}
        data-autofocus
      />
      <NumberInput
        label="Cost cap ($)"
        description={`Of all calls, those before among them. So far: ${costText(cost)}.`}
        placeholder="no cap"
        min={0.000001}
        max={1_000_000}
        decimalScale={6}
        value={newCap}
        onChange={(value) => setNewCap(typeof value === "bigint" ? Number(value) : value)}
        error={resume.error instanceof ApiError ? resume.error.fieldMessage("body.max_cost_usd") : undefined}
      />
    </FormDialog>
  );
}
