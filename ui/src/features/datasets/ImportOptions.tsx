import { Checkbox, NumberInput, Radio, Stack, TextInput } from "@mantine/core";
import type { Dataset, ImportQuery } from "@/api/types";
import { numberMistake } from "@/components/formErrors";
import classes from "./ImportPage.module.css";
import { formatItems } from "./revisions";

export interface Options {
  mode: NonNullable<ImportQuery["mode"]>;
  onError: NonNullable<ImportQuery["on_error"]>;
  dedupe: boolean;
  /** Empty is no limit. */
  maxRemoved: number | string;
  note: string;
}

export const defaultOptions: Options = {
  mode: "append",
  onError: "reject",
  dedupe: false,
  maxRemoved: "",
  note: "",
};

const modes = [
  {
    value: "append",
    label: "Append",
    description: "Adds every row as a new item. Rows whose key is already in the dataset are rejected.",
  },
  {
    value: "upsert",
    label: "Upsert",
    description: "Updates the items whose key is in the file, and adds the other rows.",
  },
  {
    value: "replace",
    label: "Replace",
    description: "Like upsert, and also removes the items that are not in the file.",
  },
] as const;

/** What is wrong with the limit of a replace, if anything. */
export function mistakeIn({ mode, maxRemoved }: Options): string | undefined {
  return mode === "replace" ? numberMistake(maxRemoved, true) : undefined;
}

interface Props {
  dataset: Dataset;
  options: Options;
  onChange: (options: Options) => void;
}

/** What an import does with the rows of its file. */
export function ImportOptions({ dataset, options, onChange }: Props) {
  const set = (changed: Partial<Options>) => onChange({ ...options, ...changed });
  return (
    <div className={classes.options}>
      <div>
        <Radio.Group
          label={`Items of the dataset (${formatItems(dataset.item_count)} now)`}
          value={options.mode}
          onChange={(mode) => set({ mode: mode as Options["mode"] })}
        >
          <Stack gap={8} mt={6}>
            {modes.map((mode) => (
              <Radio key={mode.value} {...mode} />
            ))}
          </Stack>
        </Radio.Group>
        {options.mode === "replace" && (
          <NumberInput
            mt="sm"
            maw={320}
            label="Most items that may be removed"
            description="The import fails if it would remove more. Empty means no limit."
            min={0}
            clampBehavior="none"
            error={mistakeIn(options)}
            value={options.maxRemoved}
            onChange={(maxRemoved) => set({ maxRemoved })}
          />
        )}
      </div>
      <Stack gap="md">
        <Radio.Group
          label="If rows can't be imported"
          value={options.onError}
          onChange={(onError) => set({ onError: onError as Options["onError"] })}
        >
          <Stack gap={8} mt={6}>
            <Radio value="reject" label="Import nothing" description="All rejected rows are listed." />
            <Radio
              value="skip"
              label="Skip them"
              description="The other rows are imported. All rejected rows are listed."
            />
          </Stack>
        </Radio.Group>
        <Checkbox
          label="Skip duplicates"
          description="Leaves out rows whose input and reference output are already in the dataset or an earlier row."
          checked={options.dedupe}
          onChange={(event) => set({ dedupe: event.currentTarget.checked })}
        />
        <TextInput
          label="Note"
          placeholder="Why; kept with the revision"
          maxLength={2000}
          autoComplete="off"
          value={options.note}
          onChange={(event) => set({ note: event.currentTarget.value })}
        />
      </Stack>
    </div>
  );
}
