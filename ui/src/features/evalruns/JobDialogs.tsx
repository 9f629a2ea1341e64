import { Checkbox, NumberInput } from "@mantine/core";
import { useState } from "react";
import { useRerunEvalRun, useResumeEvalRun } from "@/api/evalRunJobs";
import { ApiError } from "@/api/problem";
import type { EvalRun } from "@/api/types";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { costText } from "@/components/evaluation/progress";
import { FormDialog } from "@/components/FormDialog";
import { formatCost, formatCount } from "@/components/format";
import { missingWork } from "./evalRuns";

interface Props {
  run: EvalRun;
  onClose: () => void;
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
      A new eval-run with the same target, revision, graders, judges and order of items.{" "}
      {cost && `This one cost: ${costText(cost)}.`}{" "}
      {run.cache && run.panels.length > 0 && "Votes on the same outputs are used again and cost nothing."}{" "}
      {cap === null ? "There is no cap." : `The cap is ${formatCost(cap)}.`}
    </ConfirmDialog>
  );
}

export function ResumeDialog({ run, onClose }: Props) {
  const resume = useResumeEvalRun(run);
  const { cost, max_cost_usd: cap } = run;
  const work = missingWork(run);
  const [retries, setRetries] = useState(work.outputs + work.votes === 0);
  const [newCap, setNewCap] = useState<number | string>(cap ?? "");
  const failed = work.failedOutputs + work.failedVotes;
  return (
    <FormDialog
      title={`Resume “${run.name}”`}
      action="Resume"
      mutation={resume}
      onSubmit={() =>
        resume.mutate(
          { retry_failed: retries, ...(newCap !== "" && { max_cost_usd: Number(newCap) }) },
          { onSuccess: onClose },
        )
      }
      onClose={onClose}
      disabled={work.outputs + work.votes + (retries ? failed : 0) === 0}
    >
      <div>
        {formatCount(work.outputs)} outputs and {formatCount(work.votes)} votes are missing. What is stored
        stays as it is.
      </div>
      <Checkbox
        label={`Make the ${formatCount(work.failedOutputs)} outputs and ${formatCount(work.failedVotes)} votes that failed again, too`}
        checked={retries}
        disabled={failed === 0}
        onChange={(event) => setRetries(event.currentTarget.checked)}
        data-autofocus
      />
      <NumberInput
        label="Cost cap ($)"
        description={`Of all calls, those before among them.${cost ? ` So far: ${costText(cost)}.` : ""}`}
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
