import { Button, Group, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { Link } from "react-router";
import { type PromotionDraft, usePromoteFinding, usePromotionPlan } from "@/api/findings";
import type { Dataset, Finding, FindingGate } from "@/api/types";
import { CodeBlock } from "@/components/CodeBlock";
import { DatasetChoice } from "@/components/DatasetChoice";
import { Dialog } from "@/components/Dialog";
import { FormDialog } from "@/components/FormDialog";
import { formatCountOf } from "@/components/format";
import { ProblemPanel } from "@/components/ProblemPanel";
import { type PromptChoice, PromptPicker } from "@/components/PromptPicker";

interface Props {
  finding: Finding;
  onClose: () => void;
}

/** Makes a version of a prompt and items of a dataset of a finding, and then says how to keep it repaired. */
export function PromoteFinding({ finding, onClose }: Props) {
  const projectId = finding.project_id;
  const [prompt, setPrompt] = useState<PromptChoice | null>(null);
  const [dataset, setDataset] = useState<Dataset | null>(null);
  const body: PromotionDraft | null =
    prompt || dataset
      ? {
          ...(prompt && { prompt: { id: prompt.id, base_version: prompt.version } }),
          ...(dataset && { dataset: { id: dataset.id } }),
        }
      : null;
  const plan = usePromotionPlan(finding, body);
  const promote = usePromoteFinding(finding);
  if (promote.data) return <Promoted done={promote.data} onClose={onClose} />;
  return (
    <FormDialog
      title="Promote the finding"
      action="Promote"
      mutation={promote}
      onSubmit={() => body && promote.mutate(body)}
      onClose={onClose}
      disabled={body === null || !plan.isSuccess}
      size="lg"
    >
      <Stack gap={4}>
        <Text size="sm" fw={500}>
          Prompt
        </Text>
        <Text size="xs" c="dimmed">
          The edits become a new version. No alias moves but latest, which is always the newest version.
        </Text>
        <PromptPicker
          projectId={projectId}
          value={prompt}
          onChange={setPrompt}
          label="Prompt to edit"
          placeholder="No version"
        />
      </Stack>
      <Stack gap={4}>
        <DatasetChoice projectId={projectId} value={dataset} onChange={setDataset} />
        <Text size="xs" c="dimmed">
          The failed runs of the batch become items, without a reference output.
        </Text>
      </Stack>
      <div aria-live="polite" data-testid="promotion-plan">
        {plan.isFetching && <Text size="sm">Looking what it would do…</Text>}
        {plan.error && !plan.isFetching && (
          <ProblemPanel error={plan.error} onRetry={() => void plan.refetch()} />
        )}
        {plan.data && !plan.isFetching && (
          <Text component="ul" size="sm" m={0}>
            {plan.data.prompt?.changes.map((change) => (
              <li key={change}>{change}</li>
            ))}
            {plan.data.prompt?.left_out.map((reason) => (
              <li key={reason}>{reason}</li>
            ))}
            {plan.data.prompt?.version != null && <li>It is version {plan.data.prompt.version} already.</li>}
            {plan.data.dataset && plan.data.dataset.revision !== null && (
              <li>The dataset has the runs already.</li>
            )}
            {plan.data.dataset && plan.data.dataset.revision === null && (
              <li>
                {formatCountOf(plan.data.dataset.added, "item")} of{" "}
                {formatCountOf(plan.data.dataset.runs, "failed run")}
              </li>
            )}
          </Text>
        )}
      </div>
    </FormDialog>
  );
}

type Done = NonNullable<ReturnType<typeof usePromoteFinding>["data"]>;

function Promoted({ done, onClose }: { done: Done; onClose: () => void }) {
  const { prompt, dataset, gate, finding } = done;
  const base = `/p/${finding.project_id}`;
  return (
    <Dialog onClose={onClose} title="Promoted" size="lg">
      <Stack gap="sm" data-testid="promoted">
        {prompt && (
          <Text size="sm">
            <Link to={`${base}/prompts/${prompt.id}?version=${prompt.version}`}>
              Version {prompt.version} of {prompt.name}
            </Link>{" "}
            {prompt.is_new ? "is new." : "was there already."}
          </Text>
        )}
        {dataset && (
          <Text size="sm">
            <Link to={`${base}/datasets/${dataset.id}`}>{dataset.name}</Link> has the failed runs
            {dataset.added > 0 && `: ${formatCountOf(dataset.added, "new item")}`}.
          </Text>
        )}
        {dataset && (gate ? <Gate gate={gate} /> : <NoGate />)}
        <Group justify="flex-end">
          <Button onClick={onClose} data-autofocus>
            Close
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}

function Gate({ gate }: { gate: FindingGate }) {
  return (
    <>
      <Text size="sm">
        So that it stays repaired, evaluate each change on the dataset, where task is your agent:
      </Text>
      <CodeBlock code={gate.python} what="evaluation with the SDK" maxHeight={160} />
      <Text size="sm">and compare it with the one before, in CI:</Text>
      <CodeBlock code={gate.command} what="command of the gate" maxHeight={160} />
    </>
  );
}

function NoGate() {
  return (
    <Text size="sm" c="dimmed">
      The batch has no grader of outcomes, so that nothing says which answers are good: there is no gate.
    </Text>
  );
}
