import { Button, NumberInput } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { numberMistake } from "@/components/formErrors";
import classes from "./FilterBar.module.css";
import type { Field } from "./filterField";

interface Props {
  field: Field;
  onBack: () => void;
  onSubmit: (value: string) => void;
}

/** The lower bound of a number to filter by. */
export function Bound({ field, onBack, onSubmit }: Props) {
  const [value, setValue] = useState<string | number>("");
  const input = useRef<HTMLInputElement>(null);
  const mistake = numberMistake(value);
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
        hideControls
        value={value}
        error={mistake}
        onChange={(next) => setValue(typeof next === "bigint" ? Number(next) : next)}
        onKeyDown={(event) => {
          if (event.key === "Backspace" && value === "") onBack();
        }}
      />
      <Button type="submit" disabled={value === "" || mistake !== undefined}>
        Add filter
      </Button>
    </form>
  );
}
