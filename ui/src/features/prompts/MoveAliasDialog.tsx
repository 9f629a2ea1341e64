import { Badge, Group, Select, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { NO_ALIAS, useMoveAlias, usePromptVersions } from "@/api/prompts";
import type { Prompt, PromptAlias } from "@/api/types";
import { aliasError } from "@/components/editor/names";
import { FormDialog } from "@/components/FormDialog";
import { firstWords } from "@/components/format";
import { isStaleAlias, StaleAlias } from "./StaleAlias";

interface Props {
  prompt: Prompt;
  /** The alias to move; a new one without it. */
  alias?: PromptAlias;
  /** The aliases that exist. */
  known: readonly PromptAlias[];
  /** The version to move it to, chosen already. */
  version?: number;
  onClose: () => void;
}

/** Creates an alias, or moves one to another version. */
export function MoveAliasDialog({ prompt, alias: given, known, version: wanted, onClose }: Props) {
  // Someone else may have changed it: after a reload the dialog continues with what the alias is then.
  const alias = given && (known.find((one) => one.alias === given.alias) ?? given);
  const move = useMoveAlias(prompt);
  const versions = usePromptVersions(prompt.id);
  const [seen, setSeen] = useState(alias);
  const [name, setName] = useState("");
  const [chosen, setChosen] = useState<number | null>(wanted ?? null);
  const version = chosen ?? (given ? null : prompt.latest_version);
  const listed = versions.data?.pages.flatMap((page) => page.data) ?? [];
  const numbers = [
    ...new Set([...listed.map((one) => one.version), ...(version === null ? [] : [version])]),
  ].sort((a, b) => b - a);
  const target = seen?.alias ?? name;
  const isTaken = !given && known.some((one) => one.alias === name);
  const invalid = isTaken ? "This alias exists. Move it instead." : aliasError(name);
  const isStale = isStaleAlias(move.error);
  const submit = () => {
    if (version === null) return;
    move.mutate({ alias: target, version, etag: seen?.etag ?? NO_ALIAS }, { onSuccess: onClose });
  };
  return (
    <FormDialog
      title={
        given
          ? wanted === undefined
            ? `Move “${given.alias}”`
            : `Roll back “${given.alias}” to v${wanted}?`
          : "New alias"
      }
      action={given ? (version === null ? "Move alias" : `Move to v${version}`) : "Create alias"}
      mutation={move}
      onSubmit={submit}
      onClose={onClose}
      hideError={isStale}
      disabled={
        version === null || isStale || (given ? version === seen?.version : name === "" || invalid !== null)
      }
    >
      {seen ? (
        <Group gap={8}>
          <Text size="sm">Now</Text>
          <Badge variant="default" tt="none">
            {seen.alias} v{seen.version}
          </Badge>
        </Group>
      ) : (
        <TextInput
          label="Alias"
          placeholder="production"
          data-autofocus
          autoComplete="off"
          spellCheck={false}
          maxLength={100}
          value={name}
          onChange={(event) => {
            move.reset();
            setName(event.currentTarget.value);
          }}
          error={invalid ?? undefined}
        />
      )}
      <Select
        label="Version"
        placeholder="Choose a version"
        data-autofocus={given ? true : undefined}
        data={numbers.map((number) => {
          const note = listed.find((one) => one.version === number)?.note ?? "";
          const label = `v${number}${note === "" ? "" : ` · ${firstWords(note, 60)}`}`;
          return { value: String(number), label, disabled: number === seen?.version };
        })}
        value={version === null ? null : String(version)}
        onChange={(value) => setChosen(value === null ? null : Number(value))}
        allowDeselect={false}
        searchable={numbers.length > 10}
      />
      <Text size="sm" c="dimmed">
        Programs that ask for {target === "" ? "the alias" : target} get the version within seconds.
      </Text>
      <StaleAlias
        prompt={prompt}
        alias={target}
        error={move.error}
        onReloaded={() => {
          move.reset();
          setSeen(known.find((one) => one.alias === target));
        }}
      />
    </FormDialog>
  );
}
