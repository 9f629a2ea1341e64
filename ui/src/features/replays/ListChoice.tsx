import { SegmentedControl } from "@mantine/core";
import { useSearchParams } from "react-router";

/** Chooses between single replays and batches of them. */
export function ListChoice({ list }: { list: "replays" | "batches" }) {
  const [, setParams] = useSearchParams();
  return (
    <SegmentedControl
      size="xs"
      aria-label="What is listed"
      data={[
        { value: "replays", label: "Replays" },
        { value: "batches", label: "Batches" },
      ]}
      value={list}
      onChange={(value) => setParams(value === "batches" ? { list: "batches" } : {})}
    />
  );
}
