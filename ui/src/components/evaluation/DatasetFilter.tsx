import { Select } from "@mantine/core";
import { useDatasets } from "@/api/datasets";

interface Props {
  projectId: string;
  value: string;
  onChange: (value: string | null) => void;
}

/** Lists what is of one dataset. */
export function DatasetFilter({ projectId, value, onChange }: Props) {
  const query = useDatasets(projectId, "");
  const known = query.data?.pages.flatMap(({ data }) => data) ?? [];
  const data = known.map(({ id, name }) => ({ value: id, label: name }));
  if (value !== "" && query.data && !known.some(({ id }) => id === value))
    data.push({ value, label: "Another dataset" });
  return (
    <Select
      size="xs"
      w={200}
      aria-label="Dataset"
      placeholder="All datasets"
      searchable
      data={data}
      value={value || null}
      onChange={onChange}
      clearable
      clearButtonProps={{ "aria-label": "Clear dataset" }}
      nothingFoundMessage="No dataset has this name"
    />
  );
}
