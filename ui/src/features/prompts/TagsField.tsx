import { TagsInput } from "@mantine/core";

interface Props {
  value: string[];
  error?: string;
  onChange: (tags: string[]) => void;
}

/** The tags of a prompt. */
export function TagsField({ value, error, onChange }: Props) {
  return (
    <TagsInput
      label="Tags"
      placeholder={value.length === 0 ? "Enter adds a tag" : undefined}
      maxTags={20}
      value={value}
      onChange={onChange}
      error={error}
    />
  );
}
