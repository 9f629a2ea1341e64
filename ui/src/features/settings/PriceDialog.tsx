import { NumberInput, SimpleGrid, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { useSavePrice } from "@/api/prices";
import { ApiError } from "@/api/problem";
import { FormDialog } from "@/components/FormDialog";
import { numberMistake } from "@/components/formErrors";
import { isComplete, type PriceFields, priceOf, type Rate, rateDefaults, rateLabels, rates } from "./prices";

interface Props {
  projectId: string;
  /** Null for a new price. */
  id: string | null;
  initial: PriceFields;
  onClose: () => void;
}

/** Creates or edits a project price. */
export function PriceDialog({ projectId, id, initial, onClose }: Props) {
  const save = useSavePrice(projectId);
  const [fields, setFields] = useState(initial);
  const problem = save.error instanceof ApiError ? save.error : null;
  const message = (field: string) => problem?.fieldMessage(`body.${field}`);

  const change = (changed: Partial<PriceFields>) => {
    save.reset();
    setFields((before) => ({ ...before, ...changed }));
  };
  const changeRate = (rate: Rate, value: number | string | bigint) => {
    change({ rates: { ...fields.rates, [rate]: String(value) } });
  };
  return (
    <FormDialog
      title={id === null ? "New price" : `Price of ${initial.model}`}
      action="Save price"
      mutation={save}
      onSubmit={() => save.mutate({ id, body: priceOf(fields) }, { onSuccess: onClose })}
      onClose={onClose}
      disabled={!isComplete(fields)}
      size="lg"
    >
      <TextInput
        label="Model"
        description="The model's name in spans. * matches any text. You can omit a trailing date or version."
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
          placeholder="any provider"
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
            error={numberMistake(fields.rates[rate] ?? "") ?? message(rate)}
            placeholder={rateDefaults[rate]}
            prefix="$"
            hideControls
          />
        ))}
      </SimpleGrid>
      <Text size="xs" c="dimmed">
        US dollars per million tokens; 0 means free. Applies to spans that arrive from now on. Stored spans
        keep their cost until you reprice them.
      </Text>
    </FormDialog>
  );
}
