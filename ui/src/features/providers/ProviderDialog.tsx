import {
  Alert,
  Anchor,
  Button,
  Checkbox,
  Group,
  NumberInput,
  PasswordInput,
  SegmentedControl,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
} from "@mantine/core";
import { IconInfoCircle, IconPlus, IconTrash } from "@tabler/icons-react";
import { useState } from "react";
import { ApiError } from "@/api/problem";
import { useCreateProvider, useUpdateProvider } from "@/api/providers";
import type { Provider, ProviderKind } from "@/api/types";
import { FormDialog } from "@/components/FormDialog";
import { numberMistake } from "@/components/formErrors";
import { IconButton } from "@/components/IconButton";
import {
  ADDRESSES,
  createOf,
  fieldsOf,
  type HeaderField,
  isComplete,
  movesAway,
  type ProviderFields,
  updateOf,
} from "./fields";
import classes from "./Providers.module.css";

interface Props {
  projectId: string;
  /** Null for a new connection. */
  provider: Provider | null;
  onClose: () => void;
}

/** Creates or edits a connection. */
export function ProviderDialog({ projectId, provider, onClose }: Props) {
  const create = useCreateProvider(projectId);
  const update = useUpdateProvider(projectId);
  const save = provider === null ? create : update;
  const [fields, setFields] = useState(() => fieldsOf(provider));
  const problem = save.error instanceof ApiError ? save.error : null;
  const code = problem?.problem?.code;
  const detail = problem?.problem?.detail ?? problem?.message;
  const errors: Partial<Record<keyof ProviderFields, string>> = {
    name: problem?.fieldMessage("body.name") ?? (code === "name_taken" ? detail : undefined),
    baseUrl: problem?.fieldMessage("body.base_url") ?? (code === "address_not_allowed" ? detail : undefined),
    apiKey: problem?.fieldMessage("body.api_key"),
    headers: problem?.problem?.errors?.find(({ location }) => location.startsWith("body.headers"))?.message,
    maxConcurrency: problem?.fieldMessage("body.max_concurrency"),
    requestsPerMinute: problem?.fieldMessage("body.requests_per_minute"),
    monthlyBudget: problem?.fieldMessage("body.monthly_budget_usd"),
  };
  const isAtField = Object.values(errors).some((message) => message !== undefined);
  const isMoved = movesAway(fields, provider);

  const change = (changed: Partial<ProviderFields>) => {
    save.reset();
    setFields((before) => {
      const after = { ...before, ...changed };
      // Headers of another address are not kept.
      if (after.headers === null && movesAway(after, provider)) after.headers = named(provider);
      return after;
    });
  };
  const submit = () => {
    if (provider === null) create.mutate(createOf(fields), { onSuccess: onClose });
    else update.mutate({ id: provider.id, ...updateOf(fields, provider) }, { onSuccess: onClose });
  };
  return (
    <FormDialog
      title={provider === null ? "New connection" : `Connection “${provider.name}”`}
      action={provider === null ? "Create connection" : "Save connection"}
      mutation={save}
      onSubmit={submit}
      onClose={onClose}
      disabled={!isComplete(fields)}
      hideError={isAtField}
      size="lg"
    >
      {provider === null && (
        <Stack gap={4}>
          <Text size="sm" fw={500} id="provider-kind">
            Protocol
          </Text>
          <SegmentedControl
            aria-labelledby="provider-kind"
            value={fields.kind}
            onChange={(kind) => change({ kind: kind as ProviderKind })}
            data={[
              { value: "openai", label: "OpenAI and compatible" },
              { value: "anthropic", label: "Anthropic" },
            ]}
          />
        </Stack>
      )}
      <TextInput
        label="Name"
        placeholder="OpenAI"
        required
        withAsterisk={false}
        data-autofocus
        maxLength={100}
        autoComplete="off"
        value={fields.name}
        onChange={(event) => change({ name: event.currentTarget.value })}
        error={errors.name}
      />
      <Stack gap={4}>
        <TextInput
          label="Base URL"
          placeholder={ADDRESSES[fields.kind][0]?.url}
          maxLength={2000}
          autoComplete="off"
          spellCheck={false}
          value={fields.baseUrl}
          onChange={(event) => change({ baseUrl: event.currentTarget.value })}
          error={errors.baseUrl}
        />
        {fields.kind === "openai" && (
          <Addresses
            onChoose={({ url, header }) =>
              change({ baseUrl: url, ...(header ? { headers: [{ name: header, value: "" }] } : {}) })
            }
          />
        )}
      </Stack>
      {isMoved && (
        <Alert variant="light" color="yellow" p="xs" c="var(--lt-text)" icon={<IconInfoCircle size={16} />}>
          Enter the API key and headers again: the stored ones are for another address.
        </Alert>
      )}
      <Stack gap={6}>
        <PasswordInput
          label="API key"
          description={keyHelp(provider, isMoved)}
          placeholder={provider?.key_hint && !isMoved ? `Keeps …${provider.key_hint}` : "Needs none"}
          maxLength={4096}
          autoComplete="new-password"
          disabled={fields.removesKey}
          value={fields.apiKey}
          onChange={(event) => change({ apiKey: event.currentTarget.value })}
          error={errors.apiKey}
        />
        {provider?.key_hint && (
          <Checkbox
            size="xs"
            label="Remove the stored key"
            checked={fields.removesKey}
            onChange={(event) => change({ removesKey: event.currentTarget.checked, apiKey: "" })}
          />
        )}
      </Stack>
      <Headers
        headers={fields.headers}
        stored={provider?.header_names ?? []}
        error={errors.headers}
        onReplace={() => change({ headers: named(provider) })}
        onChange={(headers) => change({ headers })}
      />
      <SimpleGrid cols={{ base: 1, xs: 3 }}>
        <Limit
          label="Concurrent calls"
          value={fields.maxConcurrency}
          onChange={(maxConcurrency) => change({ maxConcurrency })}
          error={errors.maxConcurrency}
        />
        <Limit
          label="Calls per minute"
          placeholder="no limit"
          value={fields.requestsPerMinute}
          onChange={(requestsPerMinute) => change({ requestsPerMinute })}
          error={errors.requestsPerMinute}
        />
        <Limit
          label="Monthly budget (UTC)"
          placeholder="no budget"
          dollars
          value={fields.monthlyBudget}
          onChange={(monthlyBudget) => change({ monthlyBudget })}
          error={errors.monthlyBudget}
        />
      </SimpleGrid>
      {fields.monthlyBudget !== "" && (
        <Checkbox
          label="Allow models without a price"
          description="Their cost doesn't count towards the budget. If off, they can't be called."
          checked={fields.allowUnpriced}
          onChange={(event) => change({ allowUnpriced: event.currentTarget.checked })}
        />
      )}
    </FormDialog>
  );
}

function named(provider: Provider | null): HeaderField[] {
  return (provider?.header_names ?? []).map((name) => ({ name, value: "" }));
}

function keyHelp(provider: Provider | null, isMoved: boolean): string {
  const stored = "Stored encrypted, and never shown again.";
  if (!provider?.key_hint) return stored;
  if (!provider.key_readable) return "The server can't read the stored key any more. Enter it again.";
  return isMoved ? stored : `${stored} Leave it empty to keep the key that ends with ${provider.key_hint}.`;
}

interface AddressesProps {
  onChoose: (address: { url: string; header?: string }) => void;
}

function Addresses({ onChoose }: AddressesProps) {
  return (
    <details className={classes.help}>
      <summary>Addresses of other servers</summary>
      <ul>
        {ADDRESSES.openai.map(({ name, url, note, header }) => (
          <li key={name}>
            <Anchor component="button" type="button" size="xs" onClick={() => onChoose({ url, header })}>
              {name}
            </Anchor>{" "}
            <code>{url}</code> {note}
          </li>
        ))}
      </ul>
      <p>
        Addresses in private networks must be allowed by the setting <code>PROVIDER_PRIVATE_ADDRESSES</code>.
      </p>
    </details>
  );
}

interface HeadersProps {
  headers: HeaderField[] | null;
  stored: readonly string[];
  error: string | undefined;
  onReplace: () => void;
  onChange: (headers: HeaderField[]) => void;
}

function Headers({ headers, stored, error, onReplace, onChange }: HeadersProps) {
  return (
    <Stack gap={6}>
      <div>
        <Text size="sm" fw={500}>
          Headers
        </Text>
        <Text size="xs" c="dimmed">
          Sent with each request. Their values are stored encrypted, and never shown again.
        </Text>
      </div>
      {headers === null ? (
        <Group gap="xs">
          <Text size="sm">
            Stored: <code>{stored.join(", ")}</code>
          </Text>
          <Button size="compact-xs" variant="default" onClick={onReplace}>
            Replace headers
          </Button>
        </Group>
      ) : (
        <>
          {headers.map((header, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a header has no id while its name is typed
            <Group key={index} gap={6} wrap="nowrap">
              <TextInput
                size="xs"
                flex={1}
                aria-label={`Name of header ${index + 1}`}
                placeholder="api-key"
                maxLength={200}
                autoComplete="off"
                value={header.name}
                onChange={(event) =>
                  onChange(headers.with(index, { ...header, name: event.currentTarget.value }))
                }
              />
              <PasswordInput
                size="xs"
                flex={2}
                aria-label={`Value of header ${index + 1}`}
                placeholder="value"
                maxLength={4096}
                autoComplete="new-password"
                value={header.value}
                onChange={(event) =>
                  onChange(headers.with(index, { ...header, value: event.currentTarget.value }))
                }
              />
              <IconButton
                label={`Remove header ${index + 1}`}
                onClick={() => onChange(headers.toSpliced(index, 1))}
                icon={<IconTrash size={14} />}
              />
            </Group>
          ))}
          <div>
            <Button
              size="compact-xs"
              variant="default"
              leftSection={<IconPlus size={13} />}
              onClick={() => onChange([...headers, { name: "", value: "" }])}
            >
              Header
            </Button>
          </div>
        </>
      )}
      {error && (
        <Text size="xs" c="var(--lt-error-text)">
          {error}
        </Text>
      )}
    </Stack>
  );
}

interface LimitProps {
  label: string;
  placeholder?: string;
  dollars?: boolean;
  value: string;
  onChange: (value: string) => void;
  error: string | undefined;
}

function Limit({ label, placeholder, dollars = false, value, onChange, error }: LimitProps) {
  return (
    <NumberInput
      label={label}
      placeholder={placeholder}
      prefix={dollars ? "$" : undefined}
      hideControls
      value={value}
      onChange={(changed) => onChange(String(changed))}
      error={numberMistake(value, !dollars) ?? error}
    />
  );
}
