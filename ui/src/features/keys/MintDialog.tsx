import { Button, Checkbox, Group, Radio, Select, SimpleGrid, Stack, TextInput } from "@mantine/core";
import { useState } from "react";
import { useCreateKey } from "@/api/keys";
import type { KeyWithSecret, Scope } from "@/api/types";
import { Dialog } from "@/components/Dialog";
import { allScopes, keyPresets } from "@/components/keyPresets";
import { ProblemPanel } from "@/components/ProblemPanel";
import { expiryAfter } from "./state";

const CUSTOM = "Custom";

const expiries = [
  { value: "never", label: "Never" },
  { value: "7", label: "In 7 days" },
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "365", label: "In a year" },
];

interface Props {
  onClose: () => void;
  projectId: string;
  onMinted: (key: KeyWithSecret) => void;
}

/** Asks for name, scopes and expiry of a new key. */
export function MintDialog(props: Props) {
  return (
    <Dialog onClose={props.onClose} title="New key" size="lg">
      <MintForm {...props} />
    </Dialog>
  );
}

function MintForm({ onClose, projectId, onMinted }: Props) {
  const create = useCreateKey(projectId);
  const [name, setName] = useState("");
  const [preset, setPreset] = useState("Ingest");
  const [custom, setCustom] = useState<Scope[]>([]);
  const [expiry, setExpiry] = useState("never");
  const scopes = preset === CUSTOM ? custom : (keyPresets.find((item) => item.name === preset)?.scopes ?? []);

  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    const days = expiry === "never" ? null : Number(expiry);
    create.mutate(
      { name: name.trim(), scopes, expires_at: expiryAfter(days, Date.now()) },
      { onSuccess: onMinted },
    );
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="md">
        <TextInput
          label="Name"
          placeholder="checkout-agent, staging"
          required
          withAsterisk={false}
          data-autofocus
          maxLength={100}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <Radio.Group label="What it may do" value={preset} onChange={setPreset}>
          <Stack gap={8} mt={6}>
            {keyPresets.map((item) => (
              <Radio key={item.name} value={item.name} label={item.name} description={item.what} size="sm" />
            ))}
            <Radio value={CUSTOM} label={CUSTOM} description="Chosen scope by scope." size="sm" />
          </Stack>
        </Radio.Group>
        {preset === CUSTOM && (
          <Checkbox.Group label="Scopes" value={custom} onChange={(value) => setCustom(value as Scope[])}>
            <SimpleGrid cols={{ base: 2, xs: 3 }} spacing={8} mt={6}>
              {allScopes.map((scope) => (
                <Checkbox key={scope} value={scope} label={scope} size="xs" />
              ))}
            </SimpleGrid>
          </Checkbox.Group>
        )}
        <Select
          label="Expires"
          data={expiries}
          value={expiry}
          onChange={(value) => setExpiry(value ?? "never")}
          allowDeselect={false}
          maw={200}
        />
        {create.isError && <ProblemPanel error={create.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={create.isPending} disabled={scopes.length === 0}>
            Create key
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
