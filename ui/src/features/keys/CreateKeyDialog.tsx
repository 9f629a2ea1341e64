import { Checkbox, Radio, Select, SimpleGrid, Stack, TextInput } from "@mantine/core";
import { useState } from "react";
import { useCreateKey } from "@/api/apiKeys";
import type { KeyWithSecret, Scope } from "@/api/types";
import { FormDialog } from "@/components/FormDialog";
import { allScopes, keyPresets } from "@/components/keyPresets";
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
  onCreated: (key: KeyWithSecret) => void;
}

/** Asks for name, scopes and expiry of a new key. */
export function CreateKeyDialog({ onClose, projectId, onCreated }: Props) {
  const create = useCreateKey(projectId);
  const [name, setName] = useState("");
  const [preset, setPreset] = useState("Ingest");
  const [custom, setCustom] = useState<Scope[]>([]);
  const [expiry, setExpiry] = useState("never");
  const scopes = preset === CUSTOM ? custom : (keyPresets.find((item) => item.name === preset)?.scopes ?? []);
  const submit = () => {
    const days = expiry === "never" ? null : Number(expiry);
    create.mutate(
      { name: name.trim(), scopes, expires_at: expiryAfter(days, Date.now()) },
      { onSuccess: onCreated },
    );
  };
  return (
    <FormDialog
      title="New key"
      action="Create key"
      mutation={create}
      onSubmit={submit}
      onClose={onClose}
      disabled={scopes.length === 0}
      size="lg"
    >
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
      <Radio.Group label="Permissions" value={preset} onChange={setPreset}>
        <Stack gap={8} mt={6}>
          {keyPresets.map((item) => (
            <Radio
              key={item.name}
              value={item.name}
              label={item.name}
              description={item.description}
              size="sm"
            />
          ))}
          <Radio value={CUSTOM} label={CUSTOM} description="Choose each scope." size="sm" />
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
    </FormDialog>
  );
}
