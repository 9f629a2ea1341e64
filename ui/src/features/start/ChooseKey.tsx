import { Button, Group, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { useCreateKey } from "@/api/keys";
import { CopyButton } from "@/components/CopyButton";
import { keyPresets } from "@/components/keyPresets";
import { ProblemPanel } from "@/components/ProblemPanel";
import { allows, useProject } from "@/components/useProject";

interface Props {
  projectId: string;
  value: string;
  onChange: (key: string) => void;
}

/** Makes an Ingest key in place, or takes one that the reader has. */
export function ChooseKey({ projectId, value, onChange }: Props) {
  const mayManage = allows(useProject(), "admin");
  const create = useCreateKey(projectId);
  const [made, setMade] = useState(false);
  const scopes = keyPresets[0]?.scopes ?? [];
  const make = () =>
    create.mutate(
      { name: "First run", scopes },
      {
        onSuccess: (key) => {
          onChange(key.key);
          setMade(true);
        },
      },
    );

  return (
    <Stack gap="xs">
      <Group gap="sm" align="flex-end">
        {mayManage && (
          <>
            <Button onClick={make} loading={create.isPending} disabled={made} size="sm">
              {made ? "Key made" : "Make an Ingest key"}
            </Button>
            {!made && (
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
          readOnly={made}
          onChange={(event) => onChange(event.currentTarget.value.trim())}
          flex="1 1 260px"
          ff="monospace"
          autoComplete="off"
          spellCheck={false}
          rightSection={value ? <CopyButton value={value} what="key" /> : null}
        />
      </Group>
      {made && (
        <Text size="sm">
          <strong>Copy it now if you need it later:</strong> it stands in the code below and is shown only on
          this page, this once.
        </Text>
      )}
      {create.isError && <ProblemPanel error={create.error} onRetry={make} />}
    </Stack>
  );
}
