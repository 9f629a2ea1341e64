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
      {rule.stop && <div>{rule.stop.remedy} Runs that couldn't be scored before aren't retried.</div>}
      <Radio.Group
        label={`Runs since ${formatTime(rule.looked_until)}`}
        value={catchUp ? "yes" : "no"}
        onChange={(value) => setCatchUp(value === "yes")}
      >
        <Stack gap="xs" mt="xs">
          <Radio
            value="yes"
            label="Score them too"
            description="The sample applies. Goes back 7 days at most and uses today's budget."
            data-autofocus
          />
          <Radio value="no" label="Leave them out" description="Only runs that end from now on are scored." />
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
      It stops scoring runs. Scores that it gave stay on the runs. Its daily history and its judges' votes are
      deleted for good. To keep them, pause it instead.
    </ConfirmDialog>
  );
}
