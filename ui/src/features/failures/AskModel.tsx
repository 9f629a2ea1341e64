import { Autocomplete, Button, Checkbox, Group, NumberInput, Select, Skeleton } from "@mantine/core";
import { useState } from "react";
import { Link } from "react-router";
import {
  type DiagnosisDraft,
  isDiagnosisOpen,
  useCreateDiagnosis,
  useDiagnosesOf,
  usePlanDiagnosis,
} from "@/api/diagnoses";
import { useProviderModels, useProviders } from "@/api/providers";
import type { Provider } from "@/api/types";
import { DiagnosisView } from "@/components/diagnosis/DiagnosisView";
import { formatCost, formatCount, formatRuns } from "@/components/format";
import { ProblemPanel } from "@/components/ProblemPanel";
import { allows, useProject } from "@/components/useProject";
import classes from "./FailurePage.module.css";

interface Props {
  projectId: string;
  fingerprint: string;
}

/** Asks a model for the cause of a failure. Nothing is shown to who may not read the answers, or without a connection and an answer. */
export default function AskModel({ projectId, fingerprint }: Props) {
  const project = useProject();
  const mayReplay = allows(project, "replays:write");
  const mayRead = mayReplay || allows(project, "replays:read");
  const diagnoses = useDiagnosesOf(projectId, fingerprint, mayRead);
  const providers = useProviders(projectId);
  if (!mayRead) return null;
  if (diagnoses.isPending || providers.isPending) return <Skeleton h={60} mt="lg" />;
  const connections = providers.data?.data ?? [];
  const list = diagnoses.data?.data ?? [];
  const mayAsk = mayReplay && !list.some(isDiagnosisOpen);
  return (
    <section className={classes.section} aria-labelledby="ask-model" data-testid="ask-model">
      <h2 id="ask-model">Ask a model</h2>
      {diagnoses.error && <ProblemPanel error={diagnoses.error} onRetry={() => diagnoses.refetch()} />}
      {connections.length === 0 && mayReplay && (
        <p className={classes.dim}>
          No connection to a model.{" "}
          <Link to={`/p/${projectId}/settings/providers`}>Add one in Settings → Providers</Link> to ask.
        </p>
      )}
      {connections.length > 0 && mayAsk && (
        <AskForm projectId={projectId} fingerprint={fingerprint} connections={connections} />
      )}
      {list.length === 0 && !mayReplay && <p className={classes.dim}>Nobody has asked a model yet.</p>}
      {list.map((diagnosis) => (
        <DiagnosisView key={diagnosis.id} diagnosis={diagnosis} mayReplay={mayReplay} />
      ))}
    </section>
  );
}

interface FormProps extends Props {
  connections: readonly Provider[];
}

/** Says what asking would cost before it is done. */
function AskForm({ projectId, fingerprint, connections }: FormProps) {
  const [providerId, setProviderId] = useState(connections.length === 1 ? (connections[0]?.id ?? "") : "");
  const [model, setModel] = useState("");
  const [cap, setCap] = useState<string | number>("");
  const [isUnpriced, setUnpriced] = useState(false);
  const models = useProviderModels(projectId, providerId);
  const plan = usePlanDiagnosis();
  const create = useCreateDiagnosis(projectId);
  const draft: DiagnosisDraft = {
    project_id: projectId,
    fingerprint,
    provider_id: providerId,
    model: model.trim(),
    ...(cap !== "" && { max_cost_usd: Number(cap) }),
    ...(isUnpriced && { allow_unpriced: true }),
  };
  const isComplete = providerId !== "" && draft.model !== "";
  const reset = () => {
    plan.reset();
    create.reset();
  };
  const estimate = plan.data;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (estimate) create.mutate(draft);
        else if (isComplete) plan.mutate(draft);
      }}
    >
      <p className={classes.dim}>
        A model reads some of these runs and a good one, and claims causes with quotes. Quotes that weren't
        recorded are dropped.
      </p>
      <Group gap="sm" align="end" mt="xs">
        <Select
          size="xs"
          label="Connection"
          placeholder="choose"
          data={connections.map(({ id, name }) => ({ value: id, label: name }))}
          value={providerId || null}
          onChange={(value) => {
            setProviderId(value ?? "");
            reset();
          }}
        />
        <Autocomplete
          size="xs"
          label="Model"
          placeholder="model"
          limit={100}
          data={[...new Set(models.data?.data.map(({ id }) => id) ?? [])]}
          value={model}
          onChange={(value) => {
            setModel(value);
            reset();
          }}
        />
        <NumberInput
          size="xs"
          w={110}
          label="At most, in $"
          placeholder="no cap"
          min={0.000001}
          value={cap}
          onChange={(value) => {
            setCap(value);
            reset();
          }}
        />
        <Button
          type="submit"
          size="xs"
          variant={estimate ? "filled" : "default"}
          disabled={!isComplete}
          loading={plan.isPending || create.isPending}
        >
          {estimate ? "Ask" : "Estimate"}
        </Button>
      </Group>
      {estimate && (
        <p className={classes.dim} role="status" data-testid="ask-estimate">
          Sends {formatRuns(estimate.runs.length)}, about {formatCount(estimate.input_tokens)} tokens:{" "}
          {estimate.cost_low_usd === null
            ? "unknown cost, as the model has no price."
            : `${formatCost(estimate.cost_low_usd)} to ${formatCost(estimate.cost_high_usd)}.`}{" "}
          What was recorded leaves for the provider.
        </p>
      )}
      {estimate && !estimate.priced && cap !== "" && (
        <Checkbox
          size="xs"
          mt="xs"
          label="Ask without a price: the cap can't be held"
          checked={isUnpriced}
          onChange={(event) => setUnpriced(event.currentTarget.checked)}
        />
      )}
      {(plan.error ?? create.error) && <ProblemPanel error={(plan.error ?? create.error) as Error} />}
    </form>
  );
}
