import { Button, NumberInput } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import type { Field } from "./AddFilter";
import classes from "./FilterBar.module.css";

interface Props {
  field: Field;
  onBack: () => void;
  onSubmit: (value: string) => void;
}

/** The lower bound of a number to filter by. */
export function Bound({ field, onBack, onSubmit }: Props) {
  const [value, setValue] = useState<string | number>("");
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    onSubmit(String(value));
  };
  return (
    <form onSubmit={submit} className={classes.form}>
      <NumberInput
        size="xs"
        label={`${field.label} (${field.unit})`}
        required
        withAsterisk={false}
        ref={input}
        allowNegative={false}
        hideControls
        value={value}
        onChange={(next) => setValue(typeof next === "bigint" ? Number(next) : next)}
        onKeyDown={(event) => {
          if (event.key === "Backspace" && value === "") onBack();
        }}
      />
      <Button type="submit" disabled={value === ""}>
        Add filter
      </Button>
    </form>
  );
}
