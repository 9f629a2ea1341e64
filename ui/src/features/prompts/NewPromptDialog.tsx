import { TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";
import { ApiError } from "@/api/problem";
import { fetchVersion, useCreatePrompt } from "@/api/prompts";
import type { Prompt, PromptVersionCreate } from "@/api/types";
import { DescriptionField } from "@/components/DescriptionField";
import { nameError } from "@/components/editor/names";
import { FormDialog } from "@/components/FormDialog";
import { TagsField } from "./TagsField";

interface Props {
  projectId: string;
  /** The folder that the name starts with; empty for the top. */
  folder: string;
  /** The name, if it is known. */
  name?: string;
  /** What to copy. A prompt without versions has null. */
  source?: { prompt: Prompt; version: number | null };
  onClose: () => void;
}

/** Creates an empty prompt, or a copy of one, and opens it. */
export function NewPromptDialog({ projectId, folder, name: wanted, source, onClose }: Props) {
  const navigate = useNavigate();
  const create = useCreatePrompt(projectId);
  const [name, setName] = useState(
    source ? `${source.prompt.name}-copy` : (wanted ?? (folder === "" ? "" : `${folder}/`)),
  );
  const [description, setDescription] = useState(source?.prompt.description ?? "");
  const [tags, setTags] = useState<string[]>(source?.prompt.tags ?? []);
  const submit = useMutation({
    mutationFn: async () => {
      const version = source?.version
        ? copyOf(await fetchVersion(source.prompt.id, source.version), source.prompt.name)
        : undefined;
      return create.mutateAsync({ name, description: description.trim(), tags, version });
    },
    onSuccess: ({ id }) => navigate(`/p/${projectId}/prompts/${id}`),
  });
  const problem = submit.error instanceof ApiError ? submit.error : null;
  const isTaken = problem?.problem?.code === "name_taken";
  const invalid = nameError(name);
  return (
    <FormDialog
      title={
        source
          ? source.version
            ? `Duplicate v${source.version} of ${source.prompt.name}`
            : `Duplicate ${source.prompt.name}`
          : "New prompt"
      }
      action={source ? "Duplicate" : "Create prompt"}
      mutation={submit}
      onSubmit={() => submit.mutate()}
      onClose={onClose}
      disabled={name === "" || invalid !== null}
      hideError={isTaken}
    >
      <TextInput
        label="Name"
        description="Programs use it, so you can't change it later. Use / for folders: support/triage."
        placeholder="support/triage"
        required
        withAsterisk={false}
        data-autofocus
        autoComplete="off"
        spellCheck={false}
        maxLength={200}
        value={name}
        onChange={(event) => {
          submit.reset();
          setName(event.currentTarget.value);
        }}
        error={
          isTaken
            ? "This project already has a prompt with this name."
            : (invalid ?? problem?.fieldMessage("body.name"))
        }
      />
      <DescriptionField placeholder="What it is for" value={description} onChange={setDescription} />
      <TagsField value={tags} onChange={setTags} error={problem?.fieldMessage("body.tags")} />
    </FormDialog>
  );
}

function copyOf(
  version: PromptVersionCreate & { version: number; note: string },
  name: string,
): PromptVersionCreate {
  const { messages, tools, response_format, model_config, variables, template_format, missing } = version;
  return {
    messages,
    tools,
    response_format,
    model_config,
    variables,
    template_format,
    missing,
    note: `Copy of ${name} v${version.version}`,
  };
}
