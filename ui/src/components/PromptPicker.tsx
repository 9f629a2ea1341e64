import { Group, Select } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useState } from "react";
import { whyOf } from "@/api/problem";
import { usePromptNamed, usePrompts } from "@/api/prompts";
import type { Prompt } from "@/api/types";

/** A version of a prompt of the registry. */
export interface PromptChoice {
  id: string;
  name: string;
  version: number;
}

interface Props {
  projectId: string;
  value: PromptChoice | null;
  onChange: (choice: PromptChoice | null) => void;
  /** What the fields say to screen readers: "Prompt of column 1". */
  label: string;
  placeholder: string;
}

/** More versions than someone chooses from in a list. */
const VERSIONS = 100;

/** Finds a prompt by its name, and one of its versions. */
export function PromptPicker({ projectId, value, onChange, label, placeholder }: Props) {
  const [search, setSearch] = useState("");
  const [debounced] = useDebouncedValue(search.trim(), 200);
  const query = usePrompts(projectId, {
    search: debounced === value?.name ? undefined : debounced || undefined,
  });
  const prompts = (query.data?.pages[0]?.data ?? []).filter(({ latest_version: latest }) => latest !== null);
  const chosen = usePromptNamed(projectId, value?.name ?? "");
  const names = prompts.map(({ name }) => name);
  const choose = (name: string | null) => {
    const prompt = prompts.find((one) => one.name === name);
    if (!prompt) onChange(null);
    else onChange({ id: prompt.id, name: prompt.name, version: prompt.latest_version ?? 1 });
  };
  return (
    <Group gap={6} wrap="nowrap">
      <Select
        size="xs"
        flex={1}
        miw={0}
        aria-label={label}
        placeholder={placeholder}
        searchable
        clearable
        clearButtonProps={{ "aria-label": `Clear: ${label}` }}
        nothingFoundMessage={
          query.isPending ? "Loading…" : query.error ? whyOf(query.error) : "No prompt with a version"
        }
        data={value && !names.includes(value.name) ? [value.name, ...names] : names}
        // The API has searched already.
        filter={({ options }) => options}
        value={value?.name ?? null}
        searchValue={search}
        onSearchChange={setSearch}
        onChange={choose}
      />
      {value && (
        <Select
          size="xs"
          w={140}
          aria-label={`Version, ${label}`}
          data={versionsOf(value, chosen.data ?? null)}
          value={String(value.version)}
          onChange={(version) => onChange({ ...value, version: Number(version) })}
          allowDeselect={false}
        />
      )}
    </Group>
  );
}

/** The versions with the aliases that point to them, the newest first. */
function versionsOf({ version }: PromptChoice, prompt: Prompt | null) {
  const latest = Math.max(prompt?.latest_version ?? 0, version);
  const all = Array.from({ length: Math.min(latest, VERSIONS) }, (_, index) => latest - index);
  return [...all, ...(all.includes(version) ? [] : [version])].map((number) => {
    const aliases =
      prompt?.aliases.filter((alias) => alias.version === number).map(({ alias }) => alias) ?? [];
    return { value: String(number), label: [`v${number}`, ...aliases].join(" · ") };
  });
}
