import { Select } from "@mantine/core";

interface Props {
  /** What has the status, if that isn't clear: "item". */
  of?: string;
  /** The labels by status. */
  statuses: Record<string, string>;
  value: string | null | undefined;
  w?: number;
  onChange: (status: string | null) => void;
}

/** Filters a list by status. */
export function StatusSelect({ of, statuses, value, w, onChange }: Props) {
  return (
    <Select
      size="xs"
      w={w}
      aria-label={of === undefined ? "Status" : `Status of the ${of}`}
      placeholder="Any status"
      data={Object.entries(statuses).map(([status, label]) => ({ value: status, label }))}
      value={value ?? null}
      onChange={onChange}
      clearable
      clearButtonProps={{ "aria-label": "Clear status" }}
    />
  );
}
