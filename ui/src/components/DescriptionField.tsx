import { Textarea } from "@mantine/core";

interface Props extends Pick<React.ComponentProps<typeof Textarea>, "placeholder"> {
  value: string;
  onChange: (value: string) => void;
}

/** The description of a prompt or a dataset. */
export function DescriptionField({ value, onChange, ...props }: Props) {
  return (
    <Textarea
      label="Description"
      autosize
      minRows={2}
      maxRows={8}
      maxLength={2000}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      {...props}
    />
  );
}
