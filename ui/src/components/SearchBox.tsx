import { TextInput } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { useRef } from "react";
import { useKeys } from "./useKeys";

interface Props {
  label: string;
  placeholder: string;
  title?: string;
  value: string;
  onChange: (value: string) => void;
  onEnter?: () => void;
}

/** The search of a page. The / key focuses it, Escape leaves it. */
export function SearchBox({ label, placeholder, title, value, onChange, onEnter }: Props) {
  const input = useRef<HTMLInputElement>(null);
  useKeys({ "/": () => input.current?.focus() });
  return (
    <TextInput
      ref={input}
      flex="1 1 220px"
      maw={380}
      size="xs"
      type="search"
      aria-label={label}
      placeholder={placeholder}
      title={title}
      leftSection={<IconSearch size={14} aria-hidden="true" />}
      maxLength={1000}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === "Escape") event.currentTarget.blur();
        if (event.key === "Enter") onEnter?.();
      }}
    />
  );
}
