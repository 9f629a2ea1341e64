import { Radio, Stack } from "@mantine/core";
import { useState } from "react";
import { useDeleteEvalRule, useResumeEvalRule } from "@/api/evalRules";
import type { EvalRule } from "@/api/types";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { FormDialog } from "@/components/FormDialog";
import { formatTime } from "@/components/format";

interface Props {
  rule: EvalRule;
  onClose: () => void;
}

export function ResumeDialog({ rule, onClose }: Props) {
  const resume = useResumeEvalRule(rule);
  const [catchUp, setCatchUp] = useState(true);
  return (
    <FormDialog
      title={`Resume “${rule.name}”`}
      action="Resume"
      mutation={resume}
      onSubmit={() => resume.mutate(catchUp, { onSuccess: onClose })}
      onClose={onClose}
    >
      {rule.stop && (
        <div>{rule.stop.remedy} Runs that were tried before and have no score stay without one.</div>
      )}
      <Radio.Group
        label={`Runs since ${formatTime(rule.looked_until)}`}
        value={catchUp ? "yes" : "no"}
        onChange={(value) => setCatchUp(value === "yes")}
      >
        <Stack gap="xs" mt="xs">
          <Radio
            value="yes"
            label="Score them, too"
            description="The sample of them, of the last seven days at most. The budget of today counts."
            data-autofocus
          />
          <Radio value="no" label="Leave them out" description="Only runs that end from now on are taken." />
        </Stack>
      </Radio.Group>
    </FormDialog>
  );
}

export function DeleteDialog({ rule, onClose, onDeleted }: Props & { onDeleted: () => void }) {
  const remove = useDeleteEvalRule(rule);
  return (
    <ConfirmDialog
      title={`Delete “${rule.name}”?`}
      action="Delete rule"
      mutation={remove}
      onConfirm={() => remove.mutate(undefined, { onSuccess: onDeleted })}
      onClose={onClose}
    >
      It takes no more runs. The scores that it gave stay on the runs. What it did from day to day is deleted
      for good, with the votes of its judges. To keep that, pause it instead.
    </ConfirmDialog>
  );
}
