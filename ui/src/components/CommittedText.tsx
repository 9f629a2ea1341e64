import { TextInput } from "@mantine/core";

interface Props {
  label: string;
  placeholder: string;
  value: string;
  maxLength?: number;
  onChange: (value: string) => void;
}

/** A text that applies when Enter is pressed or the field is left. */
export function CommittedText({ label, placeholder, value, maxLength = 200, onChange }: Props) {
  const apply = (text: string) => {
    if (text.trim() !== value) onChange(text.trim());
  };
  return (
    <TextInput
      key={value}
      size="xs"
      w={140}
      aria-label={label}
      placeholder={placeholder}
      maxLength={maxLength}
      autoComplete="off"
      defaultValue={value}
      onBlur={(event) => apply(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === "Enter") apply(event.currentTarget.value);
      }}
    />
  );
}
