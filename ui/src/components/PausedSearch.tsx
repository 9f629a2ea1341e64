import { useDebouncedValue } from "@mantine/hooks";
import { useEffect, useState } from "react";
import { SearchBox } from "./SearchBox";

interface Props {
  label: string;
  placeholder: string;
  /** The search in the address. */
  value: string;
  onChange: (value: string) => void;
}

/** A SearchBox that searches after a pause in typing. */
export function PausedSearch({ label, placeholder, value, onChange }: Props) {
  const [text, setText] = useState(value);
  const [debounced] = useDebouncedValue(text.trim(), 200);
  // Another address: the back button, or a cleared filter.
  const [seen, setSeen] = useState(value);
  if (value !== seen) {
    setSeen(value);
    if (value !== text.trim()) setText(value);
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a pause in typing searches
  useEffect(() => {
    if (debounced !== value && debounced === text.trim()) onChange(debounced);
  }, [debounced]);
  return <SearchBox label={label} placeholder={placeholder} value={text} onChange={setText} />;
}
