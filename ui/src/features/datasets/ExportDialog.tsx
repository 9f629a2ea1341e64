import { NumberInput, Radio, Stack, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { exportDataset } from "@/api/datasets";
import type { Dataset } from "@/api/types";
import { FormDialog } from "@/components/FormDialog";
import { numberMistake } from "@/components/formErrors";
import { formatItems } from "./revisions";

const formats = [
  { value: "jsonl", label: "JSONL", description: "One item per line, with every value as it is" },
  { value: "csv", label: "CSV", description: "For spreadsheets; values that are not text are JSON" },
  { value: "parquet", label: "Parquet", description: "For data frames" },
] as const;

type Format = (typeof formats)[number]["value"];

interface Props {
  dataset: Dataset;
  /** The revision that is shown; undefined for the newest. */
  revision: number | undefined;
  onClose: () => void;
}

/** Saves the items of a revision as a file. */
export function ExportDialog({ dataset, revision: shown, onClose }: Props) {
  const [format, setFormat] = useState<Format>("jsonl");
  const [revision, setRevision] = useState<number | string>(shown ?? dataset.revision);
  const [split, setSplit] = useState("");
  const mistake =
    numberMistake(revision, true) ??
    (Number(revision) > dataset.revision ? `The newest is ${dataset.revision}` : undefined);
  const save = useMutation({
    mutationFn: () =>
      exportDataset(dataset, { format, revision: Number(revision), split: split.trim() || undefined }),
  });
  return (
    <FormDialog
      title={`Export ${dataset.name}`}
      action="Export"
      mutation={save}
      onSubmit={() => save.mutate(undefined, { onSuccess: onClose })}
      onClose={onClose}
      disabled={revision === "" || mistake !== undefined}
    >
      <Radio.Group label="Format" value={format} onChange={(value) => setFormat(value as Format)}>
        <Stack gap={6} mt={4}>
          {formats.map(({ value, label, description }, index) => (
            <Radio
              key={value}
              value={value}
              label={label}
              description={description}
              data-autofocus={index === 0 || undefined}
            />
          ))}
        </Stack>
      </Radio.Group>
      <NumberInput
        label="Revision"
        description={`The newest is ${dataset.revision}, with ${formatItems(dataset.item_count)}.`}
        min={0}
        max={dataset.revision}
        clampBehavior="none"
        value={revision}
        onChange={setRevision}
        error={mistake}
      />
      <TextInput
        label="Split"
        description="Only items of this split. Leave it empty for all items."
        autoComplete="off"
        maxLength={64}
        value={split}
        onChange={(event) => setSplit(event.currentTarget.value)}
      />
    </FormDialog>
  );
}
