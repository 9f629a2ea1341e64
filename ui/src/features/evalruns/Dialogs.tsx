import { Text } from "@mantine/core";
import { useState } from "react";
import { useCreateComparison } from "@/api/comparisons";
import { useRerunEvalRun } from "@/api/evalRunJobs";
import { useCancelEvalRun, useDeleteEvalRun, useRenameEvalRun } from "@/api/evalRuns";
import type { EvalRun } from "@/api/types";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { costText, progressText, voteProgressText } from "@/components/evaluation/progress";
import { RenameDialog } from "@/components/evaluation/RenameDialog";
import { FormDialog } from "@/components/FormDialog";
import { formatCost, formatCountOf } from "@/components/format";
import { BaselineChoice } from "./BaselineChoice";
import { comparisonOf, inOrder } from "./evalRuns";

interface Props {
  run: EvalRun;
  onClose: () => void;
}

export function CancelDialog({ run, onClose }: Props) {
  const cancel = useCancelEvalRun(run);
  return (
    <ConfirmDialog
      title={`Cancel “${run.name}”?`}
      action="Cancel eval-run"
      closeLabel="Let it run"
      mutation={cancel}
      onConfirm={() => cancel.mutate(undefined, { onSuccess: onClose })}
      onClose={onClose}
    >
      {[progressText(run), voteProgressText(run)].filter((text) => text !== null).join(", ")}. Stored results
      are kept and summarized.{" "}
      {run.target.type === "external"
        ? "Results that your program sends later are refused, and you can't resume it."
        : "Calls under way finish and are charged. You can resume it later."}
    </ConfirmDialog>
  );
}

export function RerunDialog({ run, onClose, onStarted }: Props & { onStarted: (id: string) => void }) {
  const rerun = useRerunEvalRun(run);
  const { cost, max_cost_usd: cap } = run;
  return (
    <ConfirmDialog
      title={`Run “${run.name}” again?`}
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
      Starts a new eval-run with the same target, revision, graders, judges and order of items.{" "}
      {cost && `This one cost: ${costText(cost)}.`}{" "}
      {run.cache && run.panels.length > 0 && "Votes on the same outputs are reused and cost nothing."}{" "}
      {cap === null ? "There is no cap." : `The cap is ${formatCost(cap)}.`}
    </ConfirmDialog>
  );
}

export function RenameEvalRun({ run, onClose }: Props) {
  const rename = useRenameEvalRun(run);
  return <RenameDialog what="eval-run" name={run.name} mutation={rename} onClose={onClose} />;
}

export function DeleteDialog({ run, onClose, onDeleted }: Props & { onDeleted: () => void }) {
  const remove = useDeleteEvalRun(run);
  return (
    <ConfirmDialog
      title={`Delete “${run.name}”?`}
      action="Delete eval-run"
      mutation={remove}
      onConfirm={() => remove.mutate(undefined, { onSuccess: onDeleted })}
      onClose={onClose}
    >
      Its result, {formatCountOf(run.accounting.outputs, "output")} and their scores are deleted for good. The
      recorded runs and the dataset are kept.
    </ConfirmDialog>
  );
}

export function CompareDialog({ run, onClose, onStarted }: Props & { onStarted: (id: string) => void }) {
  const create = useCreateComparison(run.project_id);
  const [other, setOther] = useState<EvalRun | null>(null);
  const submit = () => {
    if (other) create.mutate(comparisonOf(...inOrder(run, other)), { onSuccess: ({ id }) => onStarted(id) });
  };
  return (
    <FormDialog
      title={`Compare “${run.name}”`}
      action="Compare"
      mutation={create}
      onSubmit={submit}
      onClose={onClose}
      disabled={other === null}
    >
      <BaselineChoice run={run} label="Other eval-run of this dataset" value={other} onChange={setOther} />
      <Text size="sm" c="dimmed">
        The older one becomes A. The comparison calls no model: it uses the existing outputs and scores.
      </Text>
    </FormDialog>
  );
}
