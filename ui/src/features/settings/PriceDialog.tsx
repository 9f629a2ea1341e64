import { Button, Group, NumberInput, SimpleGrid, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { useSavePrice } from "@/api/prices";
import { ApiError } from "@/api/problem";
import { Dialog } from "@/components/Dialog";
import { ProblemPanel } from "@/components/ProblemPanel";
import { isComplete, type PriceFields, priceOf, type Rate, rateDefaults, rateLabels, rates } from "./prices";

interface Props {
  projectId: string;
  /** Null: a new price. */
  id: string | null;
  initial: PriceFields;
  onClose: () => void;
}

/** Asks for a price of the project's own. */
export function PriceDialog({ projectId, id, initial, onClose }: Props) {
  const save = useSavePrice(projectId);
  const [fields, setFields] = useState(initial);
  // Errors of fields stand at the fields.
  const problem = save.error instanceof ApiError ? save.error : null;
  const message = (field: string) => problem?.fieldMessage(`body.${field}`);

  const change = (changed: Partial<PriceFields>) => {
    save.reset();
    setFields((before) => ({ ...before, ...changed }));
  };
  const changeRate = (rate: Rate, value: number | string | bigint) => {
    change({ rates: { ...fields.rates, [rate]: String(value) } });
  };
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    save.mutate({ id, body: priceOf(fields) }, { onSuccess: onClose });
  };
  return (
    <Dialog onClose={onClose} title={id === null ? "New price" : `Price of ${fields.model}`} size="lg">
      <form onSubmit={submit}>
        <Stack gap="md">
          <TextInput
            label="Model"
            description="As spans name it; * stands for any text. A date or version at its end may be left out."
            required
            withAsterisk={false}
            data-autofocus
            maxLength={256}
            value={fields.model}
            onChange={(event) => change({ model: event.currentTarget.value })}
            error={message("model")}
          />
          <SimpleGrid cols={{ base: 1, xs: 2 }}>
            <TextInput
              label="Provider"
              placeholder="every provider"
              maxLength={256}
              value={fields.provider}
              onChange={(event) => change({ provider: event.currentTarget.value })}
              error={message("provider")}
            />
            <TextInput
              label="Valid from (UTC)"
              type="date"
              value={fields.validFrom}
              onChange={(event) => change({ validFrom: event.currentTarget.value })}
              error={message("valid_from")}
            />
          </SimpleGrid>
          <SimpleGrid cols={{ base: 2, xs: 3 }}>
            {rates.map((rate) => (
              <NumberInput
                key={rate}
                label={rateLabels[rate]}
                value={fields.rates[rate] ?? ""}
                onChange={(value) => changeRate(rate, value)}
                error={message(rate)}
                placeholder={rateDefaults[rate]}
                prefix="$"
                allowNegative={false}
                decimalScale={10}
                hideControls
              />
            ))}
          </SimpleGrid>
          <Text size="xs" c="dimmed">
            US dollars for a million tokens; 0 is free. It holds for spans that arrive from now on: stored
            spans keep their cost until they are repriced.
          </Text>
          {save.isError && <ProblemPanel error={save.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={save.isPending} disabled={!isComplete(fields)}>
              Save price
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
