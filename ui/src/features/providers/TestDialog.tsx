import { Alert, Autocomplete, Button, Group, Stack, Text } from "@mantine/core";
import { IconAlertTriangle, IconCheck, IconHelp, IconX } from "@tabler/icons-react";
import { useState } from "react";
import { useProviderModels, useTestProvider } from "@/api/providers";
import type { Provider, ProviderTestResult } from "@/api/types";
import { Dialog } from "@/components/Dialog";
import { formatDuration } from "@/components/format";
import { ProblemPanel } from "@/components/ProblemPanel";
import classes from "./Providers.module.css";

interface Props {
  projectId: string;
  provider: Provider;
  onClose: () => void;
}

/** Tests whether the address answers, the key is accepted, and what a model can do. */
export function TestDialog({ projectId, provider, onClose }: Props) {
  const models = useProviderModels(projectId, provider.id);
  const test = useTestProvider(provider.id);
  const [model, setModel] = useState("");
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    test.mutate(model.trim());
  };
  return (
    <Dialog onClose={onClose} title={`Test “${provider.name}”`}>
      <form onSubmit={submit}>
        <Stack gap="md">
          <Autocomplete
            label="Model"
            description="Test calls use a few tokens and count as spending. Without a model, only the address is tested."
            placeholder="Choose or type one"
            data-autofocus
            maxLength={200}
            limit={50}
            data={[...new Set(models.data?.data.map(({ id }) => id) ?? [])]}
            value={model}
            onChange={setModel}
          />
          {test.error && <ProblemPanel error={test.error} />}
          <div role="status">
            {test.isPending && <Text size="sm">Testing…</Text>}
            {test.data && !test.isPending && <Results result={test.data} />}
          </div>
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Close
            </Button>
            <Button type="submit" loading={test.isPending}>
              {test.data ? "Test again" : "Test"}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}

function Results({ result }: { result: ProviderTestResult }) {
  const { chat, streaming, tools, json_schema } = result.features;
  return (
    <Stack gap="sm" data-testid="provider-test">
      {result.message && (
        <Alert
          variant="light"
          color="red"
          p="xs"
          c="var(--lt-text)"
          icon={<IconAlertTriangle size={16} />}
          title={result.code ?? undefined}
        >
          {result.message}
        </Alert>
      )}
      <dl className={classes.results}>
        <Answer label="Address answers" value={result.reachable} />
        <Answer label="Key accepted" value={result.authenticated} />
        <Answer label="Chat" value={chat} />
        <Answer label="Streaming" value={streaming} />
        <Answer label="Tools" value={tools} />
        <Answer label="JSON Schema" value={json_schema} />
      </dl>
      <Text size="xs" c="dimmed">
        Took {formatDuration(result.duration_ms)}.
      </Text>
    </Stack>
  );
}

function Answer({ label, value }: { label: string; value: boolean | null }) {
  const answer = value === null ? "unknown" : value ? "yes" : "no";
  const Shape = { yes: IconCheck, no: IconX, unknown: IconHelp }[answer];
  return (
    <>
      <dt>{label}</dt>
      <dd data-answer={answer}>
        <Shape size={15} aria-hidden="true" /> {answer}
      </dd>
    </>
  );
}
