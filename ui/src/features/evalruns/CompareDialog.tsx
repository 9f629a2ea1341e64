import { Text } from "@mantine/core";
import { useState } from "react";
import { useCreateComparison } from "@/api/comparisons";
import type { EvalRun } from "@/api/types";
import { FormDialog } from "@/components/FormDialog";
import { BaselineChoice } from "./BaselineChoice";
import { comparisonOf, inOrder } from "./evalRuns";

interface Props {
  run: EvalRun;
  onClose: () => void;
  onStarted: (id: string) => void;
}

/** Compares an eval-run with another one of its dataset. */
export function CompareDialog({ run, onClose, onStarted }: Props) {
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
