import { Button, Popover, Select, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlus } from "@tabler/icons-react";
import { useState } from "react";
import classes from "./FilterBar.module.css";
import { NUMBER_FIELDS, TEXT_FIELDS, withParam } from "./filters";

interface Props {
  params: URLSearchParams;
  onChange: (params: URLSearchParams) => void;
}

const fields = [
  ...TEXT_FIELDS.map(({ name, label }) => ({ value: name as string, label: label as string })),
  ...NUMBER_FIELDS.map(({ name, label, unit }) => ({ value: name as string, label: `${label} (${unit})` })),
];

/** Any other filter: a field and its value. */
export function AddFilter({ params, onChange }: Props) {
  const [opened, { toggle, close }] = useDisclosure(false);
  const [field, setField] = useState("model");
  const [value, setValue] = useState("");
  const isNumber = NUMBER_FIELDS.some((item) => item.name === field);
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    onChange(withParam(params, field, value.trim()));
    setValue("");
    close();
  };
  return (
    <Popover opened={opened} onChange={(next) => !next && close()} trapFocus width={260} shadow="md">
      <Popover.Target>
        <Button size="xs" variant="default" leftSection={<IconPlus size={13} />} onClick={toggle}>
          Filter
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <form onSubmit={submit} className={classes.form}>
          <Select
            label="Field"
            size="xs"
            data={fields}
            value={field}
            onChange={(next) => setField(next ?? field)}
            allowDeselect={false}
            comboboxProps={{ withinPortal: false }}
          />
          <TextInput
            label="Value"
            size="xs"
            required
            withAsterisk={false}
            data-autofocus
            type={isNumber ? "number" : "text"}
            min={isNumber ? 0 : undefined}
            step={isNumber ? "any" : undefined}
            maxLength={200}
            value={value}
            onChange={(event) => setValue(event.currentTarget.value)}
          />
          <Button type="submit">Add filter</Button>
        </form>
      </Popover.Dropdown>
    </Popover>
  );
}
