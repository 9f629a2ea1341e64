import { Button, Group, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { useCreateKey } from "@/api/apiKeys";
import { CopyButton } from "@/components/CopyButton";
import { keyPresets } from "@/components/keyPresets";
import { ProblemPanel } from "@/components/ProblemPanel";
import { allows, useProject } from "@/components/useProject";

interface Props {
  projectId: string;
  value: string;
  onChange: (key: string) => void;
}

/** Creates an Ingest key, or accepts an existing key. */
export function ChooseKey({ projectId, value, onChange }: Props) {
  const mayManage = allows(useProject(), "admin");
  const create = useCreateKey(projectId);
  const [created, setCreated] = useState(false);
  const scopes = keyPresets[0]?.scopes ?? [];
  const createKey = () =>
    create.mutate(
      { name: "First run", scopes },
      {
        onSuccess: (key) => {
          onChange(key.key);
          setCreated(true);
        },
      },
    );

  return (
    <Stack gap="xs">
      <Group gap="sm" align="flex-end">
        {mayManage && (
          <>
            <Button onClick={createKey} loading={create.isPending} disabled={created} size="sm">
              {created ? "Key created" : "Create an Ingest key"}
            </Button>
            {!created && (
              <Text size="sm" c="dimmed" lh="36px">
                or
              </Text>
            )}
          </>
        )}
        <TextInput
          aria-label="Key"
          placeholder="paste a key: lt_…"
          value={value}
          readOnly={created}
          onChange={(event) => onChange(event.currentTarget.value.trim())}
          flex="1 1 260px"
          ff="monospace"
          autoComplete="off"
          spellCheck={false}
          rightSection={value ? <CopyButton value={value} what="key" /> : null}
        />
      </Group>
      {created && (
        <Text size="sm">
          <strong>Copy it now if you need it later.</strong> It's in the code below and won't be shown again.
        </Text>
      )}
      {!mayManage && (
        <Text size="sm" c="dimmed">
          Only admins and owners can create keys. Ask one for an Ingest key.
        </Text>
      )}
      {create.isError && <ProblemPanel error={create.error} onRetry={createKey} />}
    </Stack>
  );
}
