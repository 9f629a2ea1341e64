import { Autocomplete } from "@mantine/core";
import type { DatasetItem } from "@/api/types";
import { groupPaths } from "./groups";

interface Props {
  value: string;
  items: readonly DatasetItem[];
  error: string | undefined;
  onChange: (value: string) => void;
}

/** The path in an item by whose value items belong together. It proposes those of the first items. */
export function GroupBy({ value, items, error, onChange }: Props) {
  const paths = groupPaths(items);
  return (
    <Autocomplete
      label="Items belong together by"
      description={
        paths.length > 0 && value === ""
          ? `Some have the same ${paths[0]?.slice("metadata.".length)}: counted as independent, they show differences that are none`
          : "Such as those of a customer, a conversation or a document"
      }
      placeholder={paths[0] ?? "each is on its own"}
      data={paths}
      maxLength={500}
      value={value}
      onChange={onChange}
      error={error}
    />
  );
}
