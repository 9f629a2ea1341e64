import { Combobox, InputBase, Loader, useCombobox } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useState } from "react";
import { useCreateDataset } from "@/api/datasets";
import { useDatasetChoice } from "@/api/runItems";
import type { Dataset } from "@/api/types";
import classes from "./AddToDatasetDialog.module.css";
import { formatCountOf } from "./format";

interface Props {
  projectId: string;
  value: Dataset | null;
  onChange: (dataset: Dataset | null) => void;
  /** Without it, only a dataset that is there can be chosen. */
  mayCreate?: boolean;
  error?: string;
}

const CREATE = "create";

/** Finds a dataset by its name, or creates one. */
export function DatasetChoice({ projectId, value, onChange, mayCreate = true, error }: Props) {
  const [text, setText] = useState(value?.name ?? "");
  const search = text.trim();
  const [debounced] = useDebouncedValue(value ? "" : search, 200);
  const query = useDatasetChoice(projectId, debounced);
  const create = useCreateDataset(projectId);
  const combobox = useCombobox({ onDropdownClose: () => combobox.resetSelectedOption() });
  const datasets = query.data?.data ?? [];
  const isNew =
    mayCreate &&
    search !== "" &&
    !value &&
    debounced === search &&
    !datasets.some(({ name }) => name === search);
  const choose = (dataset: Dataset) => {
    setText(dataset.name);
    onChange(dataset);
    combobox.closeDropdown();
  };
  const submit = (option: string) => {
    if (option === CREATE)
      create.mutate({ name: search }, { onSuccess: (created) => choose(created as Dataset) });
    const chosen = datasets.find(({ id }) => id === option);
    if (chosen) choose(chosen);
  };
  return (
    <Combobox store={combobox} onOptionSubmit={submit} withinPortal>
      <Combobox.Target>
        <InputBase
          label="Dataset"
          placeholder={
            !mayCreate
              ? "Choose a dataset"
              : search === "" && query.data?.data.length === 0
                ? "Type the name of a new dataset"
                : "Choose one, or type the name of a new one"
          }
          data-autofocus
          autoComplete="off"
          maxLength={128}
          rightSection={
            create.isPending ? <Loader size={14} role="status" aria-label="Creating" /> : <Combobox.Chevron />
          }
          rightSectionPointerEvents="none"
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value);
            create.reset();
            if (value) onChange(null);
            combobox.openDropdown();
            combobox.updateSelectedOptionIndex();
          }}
          onClick={() => combobox.openDropdown()}
          onFocus={() => combobox.openDropdown()}
          onBlur={() => combobox.closeDropdown()}
          error={error ?? create.error?.message ?? query.error?.message}
        />
      </Combobox.Target>
      <Combobox.Dropdown hidden={datasets.length === 0 && !isNew}>
        <Combobox.Options mah={260} className={classes.options} aria-label="Datasets">
          {datasets.map((dataset) => (
            <Combobox.Option key={dataset.id} value={dataset.id}>
              {dataset.name} <span className={classes.dim}>{formatCountOf(dataset.item_count, "item")}</span>
            </Combobox.Option>
          ))}
          {isNew && <Combobox.Option value={CREATE}>Create dataset “{search}”</Combobox.Option>}
        </Combobox.Options>
      </Combobox.Dropdown>
    </Combobox>
  );
}
