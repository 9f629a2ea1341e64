import { TextInput } from "@mantine/core";
import { ApiError } from "@/api/problem";

interface Props extends Pick<React.ComponentProps<typeof TextInput>, "placeholder"> {
  value: string;
  /** Of the request that had the name. */
  error: Error | null;
  onChange: (value: string) => void;
}

/** The name of a dataset. */
export function NameField({ value, error, onChange, placeholder }: Props) {
  return (
    <TextInput
      label="Name"
      placeholder={placeholder}
      required
      withAsterisk={false}
      data-autofocus
      autoComplete="off"
      spellCheck={false}
      maxLength={128}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      error={
        isNameTaken(error)
          ? "This project already has a dataset with this name."
          : error instanceof ApiError && error.fieldMessage("body.name")
      }
    />
  );
}

/** Whether NameField shows the error. */
export function isNameTaken(error: Error | null): boolean {
  return error instanceof ApiError && error.problem?.code === "name_taken";
}
