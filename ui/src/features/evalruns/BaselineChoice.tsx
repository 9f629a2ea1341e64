import { Select } from "@mantine/core";
import { CHOICE, useEvalRunChoice } from "@/api/evalRuns";
import type { EvalRun } from "@/api/types";
import { formatTime } from "@/components/format";
import { originText, whyNotComparable } from "./evalRuns";

interface Props {
  run: EvalRun;
  label: string;
  value: EvalRun | null;
  onChange: (other: EvalRun | null) => void;
}

/** Chooses another eval-run of the same dataset that has a result. */
export function BaselineChoice({ run, label, value, onChange }: Props) {
  const query = useEvalRunChoice(run.project_id, run.dataset.id);
  const others = (query.data?.data ?? []).filter(
    (one) => one.id !== run.id && whyNotComparable(one, run) === null,
  );
  const hint =
    query.data && others.length === 0
      ? "No other eval-run of this dataset has a result. Run the program again, for example on another branch."
      : query.data?.has_more
        ? `Only the newest ${CHOICE} are listed.`
        : undefined;
  return (
    <Select
      label={label}
      description={hint}
      placeholder={query.isPending ? "Loading…" : "Choose an eval-run"}
      searchable
      w="100%"
      maw={460}
      data={others.map((one) => ({
        value: one.id,
        label: `${one.name} · ${originText(one)} · ${formatTime(one.created_at)}`,
      }))}
      value={value?.id ?? null}
      onChange={(id) => onChange(others.find((one) => one.id === id) ?? null)}
      nothingFoundMessage="No eval-run has this name"
      error={query.error?.message}
    />
  );
}
