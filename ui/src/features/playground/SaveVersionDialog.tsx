import { Alert, Autocomplete, Button, Group, Select, Stack, Text, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { ApiError, whyOf } from "@/api/problem";
import {
  NO_ALIAS,
  useCreatePrompt,
  useMoveAlias,
  usePromptNamed,
  usePrompts,
  useSaveVersion,
} from "@/api/prompts";
import type { Prompt, PromptVersionCreate } from "@/api/types";
import { Dialog } from "@/components/Dialog";
import { nameError } from "@/components/editor/names";
import { FormDialog } from "@/components/FormDialog";
import { allows, useProject } from "@/components/useProject";

interface Props {
  projectId: string;
  content: PromptVersionCreate;
  /** The prompt that the content came from; empty for none. */
  promptName: string;
  onClose: () => void;
}

interface Saved {
  id: string;
  name: string;
  version: number;
  isNew: boolean;
  alias: string | null;
  /** Why the alias did not move. */
  aliasError: Error | null;
}

/** Saves what a column sends as a version of a prompt, and can move an alias to it. */
export function SaveVersionDialog({ projectId, content, promptName, onClose }: Props) {
  const isAdmin = allows(useProject(), "admin");
  const [name, setName] = useState(promptName);
  const [debounced] = useDebouncedValue(name.trim(), 250);
  const [note, setNote] = useState("");
  const [alias, setAlias] = useState<string | null>(null);
  const found = usePrompts(projectId, { search: debounced || undefined });
  const known = usePromptNamed(projectId, debounced);
  const prompt = debounced === "" ? null : (known.data ?? null);
  const target = prompt ?? ({ id: "", project_id: projectId } as Prompt);
  const create = useCreatePrompt(projectId);
  const save = useSaveVersion(target);
  const move = useMoveAlias(target);
  const submit = useMutation({
    mutationFn: async (): Promise<Saved> => {
      const body = { ...content, note: note.trim() };
      if (prompt === null) {
        const { id } = await create.mutateAsync({ name: debounced, version: body });
        return { id, name: debounced, version: 1, isNew: true, alias: null, aliasError: null };
      }
      const { version, isNew } = await save.mutateAsync({
        ...body,
        base_version: prompt.latest_version ?? 0,
      });
      const saved = { id: prompt.id, name: prompt.name, version: version.version, isNew, alias };
      if (alias === null) return { ...saved, aliasError: null };
      const { etag } = prompt.aliases.find((one) => one.alias === alias) ?? { etag: NO_ALIAS };
      try {
        await move.mutateAsync({ alias, version: version.version, etag });
        return { ...saved, aliasError: null };
      } catch (error) {
        return { ...saved, aliasError: error as Error };
      }
    },
  });
  if (submit.data) return <SavedDialog projectId={projectId} saved={submit.data} onClose={onClose} />;

  const invalid = nameError(name.trim());
  const isFinal = debounced === name.trim() && known.isSuccess;
  const problem = submit.error instanceof ApiError ? submit.error : null;
  return (
    <FormDialog
      title="Save as prompt version"
      action={prompt ? `Save v${(prompt.latest_version ?? 0) + 1}` : "Create prompt"}
      mutation={submit}
      onSubmit={() => submit.mutate()}
      onClose={onClose}
      disabled={name.trim() === "" || invalid !== null || !isFinal}
    >
      <Autocomplete
        label="Prompt"
        description={
          !isFinal || name.trim() === ""
            ? "Choose one, or type the name of a new one."
            : prompt
              ? `Its latest version is ${prompt.latest_version === null ? "none" : `v${prompt.latest_version}`}.`
              : "No prompt has this name. Saving creates it."
        }
        data-autofocus
        maxLength={128}
        data={found.data?.pages[0]?.data.map((one) => one.name) ?? []}
        filter={({ options }) => options}
        value={name}
        onChange={(changed) => {
          submit.reset();
          setAlias(null);
          setName(changed);
        }}
        error={invalid ?? problem?.fieldMessage("body.name")}
      />
      <TextInput
        label="Note"
        placeholder="What changed (optional)"
        maxLength={2000}
        value={note}
        onChange={(event) => setNote(event.currentTarget.value)}
      />
      {prompt && prompt.aliases.length > 0 && (
        <Select
          label="Alias"
          placeholder="Move no alias"
          data={prompt.aliases.map((one) => ({
            value: one.alias,
            label: one.protected && !isAdmin ? `${one.alias} (protected)` : `Move ${one.alias} to it`,
            disabled: one.protected && !isAdmin,
          }))}
          value={alias}
          onChange={setAlias}
          clearable
        />
      )}
      <Text size="xs" c="dimmed">
        Saves messages, tools, response format and the column's model with its parameters. Values of variables
        aren't part of it.
      </Text>
    </FormDialog>
  );
}

interface SavedProps {
  projectId: string;
  saved: Saved;
  onClose: () => void;
}

function SavedDialog({ projectId, saved, onClose }: SavedProps) {
  const { id, name, version, isNew, alias, aliasError } = saved;
  return (
    <Dialog onClose={onClose} title={isNew ? "Version saved" : "Nothing to save"}>
      <Stack gap="md">
        <Text size="sm" data-testid="saved-version">
          {isNew ? `Saved as v${version} of ${name}.` : `v${version} of ${name} has the same content.`}
          {alias && !aliasError && ` ${alias} is now v${version}.`}
        </Text>
        {aliasError && (
          <Alert variant="light" color="red" p="xs" c="var(--lt-text)">
            {aliasError instanceof ApiError && aliasError.status === 412
              ? "The alias was not moved, because someone moved it meanwhile."
              : `The alias was not moved: ${whyOf(aliasError)}`}
          </Alert>
        )}
        <Group justify="flex-end">
          <Button variant="default" component={Link} to={`/p/${projectId}/prompts/${id}`}>
            Open the prompt
          </Button>
          <Button onClick={onClose}>Close</Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
