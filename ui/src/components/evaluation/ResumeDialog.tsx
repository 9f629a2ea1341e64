import { Checkbox, NumberInput } from "@mantine/core";
import { useState } from "react";
import { ApiError } from "@/api/problem";
import type { EvaluationCost, EvaluationResume } from "@/api/types";
import { FormDialog } from "@/components/FormDialog";
import { costText } from "./progress";
import { type MissingWork, workText } from "./resume";

interface Props {
  name: string;
  work: MissingWork;
  /** Null: no call was made. */
  cost: EvaluationCost | null;
  /** In dollars. */
  cap: number | null;
  mutation: {
    isPending: boolean;
    error: Error | null;
    mutate: (body: EvaluationResume, options: { onSuccess: () => void }) => void;
  };
  onClose: () => void;
}

/** Makes what is missing of an evaluation that ended, and what failed again. */
export function ResumeDialog({ name, work, cost, cap, mutation, onClose }: Props) {
  const isOnlyFailed = work.outputs + work.votes === 0;
  const [retries, setRetries] = useState(isOnlyFailed);
  const [newCap, setNewCap] = useState<number | string>(cap ?? "");
  const hasFailed = work.failedOutputs + work.failedVotes > 0;
  const made = workText(
    work.outputs + (retries ? work.failedOutputs : 0),
    work.votes + (retries ? work.failedVotes : 0),
  );
  return (
    <FormDialog
      title={`Resume “${name}”`}
      action={`Run ${made}`}
      mutation={mutation}
      onSubmit={() =>
        mutation.mutate(
          { retry_failed: retries, ...(newCap !== "" && { max_cost_usd: Number(newCap) }) },
          { onSuccess: onClose },
        )
      }
      onClose={onClose}
      disabled={isOnlyFailed && !retries}
    >
      <div>Missing: {workText(work.outputs, work.votes)}. Stored results are kept.</div>
      <Checkbox
        label={`Also retry what failed: ${hasFailed ? workText(work.failedOutputs, work.failedVotes) : "nothing did"}`}
        checked={retries}
        disabled={!hasFailed}
        onChange={(event) => setRetries(event.currentTarget.checked)}
        data-autofocus
      />
      <NumberInput
        label="Cost cap ($)"
        description={`For all calls, including earlier ones.${cost ? ` So far: ${costText(cost)}.` : ""}`}
        placeholder="no cap"
        min={0.000001}
        max={1_000_000}
        decimalScale={6}
        value={newCap}
        onChange={(value) => setNewCap(typeof value === "bigint" ? Number(value) : value)}
        error={
          mutation.error instanceof ApiError ? mutation.error.fieldMessage("body.max_cost_usd") : undefined
        }
      />
    </FormDialog>
  );
}
