import { Autocomplete, NumberInput, Select, TextInput } from "@mantine/core";
import { useMemo } from "react";
import { useProviderModels } from "@/api/providers";
import { Code } from "@/components/Code";
import { type DraftMessage, newId } from "@/components/editor/draft";
import editor from "@/components/editor/Editor.module.css";
import { MessagesEditor } from "@/components/editor/MessagesEditor";
import { ModelParameters } from "@/components/editor/ModelParameters";
import { PromptPicker } from "@/components/PromptPicker";
import type { EditDraft } from "./edits";
import classes from "./Replays.module.css";
import {
  definitionsOf,
  draftMessages,
  type Recorded,
  recordedModel,
  recordedParams,
  recordedText,
} from "./recorded";

interface Props {
  projectId: string;
  edit: EditDraft;
  number: number;
  recorded: Recorded;
  providerId: string;
  onChange: (edit: EditDraft) => void;
}

/** The field for what an edit sets. It starts with what was recorded. */
export function EditValue(props: Props) {
  const { projectId, edit, number, recorded, onChange } = props;
  const change = (changed: Partial<EditDraft>) => onChange({ ...edit, ...changed });
  switch (edit.change) {
    case "system_prompt":
    case "input":
    case "tool_result":
      return (
        <Code
          label={`${TEXTS[edit.change]} of edit ${number}`}
          language="text"
          minHeight={70}
          maxHeight={320}
          value={edit.text ?? recordedText(edit, recorded) ?? ""}
          onChange={(text) => change({ text: text === recordedText(edit, recorded) ? null : text })}
        />
      );
    case "model":
      return <ModelField {...props} />;
    case "params":
      return (
        <ModelParameters
          model={edit.params ?? recordedParams(recorded)}
          tools={[]}
          errors={[]}
          onChange={(params) => change({ params })}
        />
      );
    case "prompt":
      return (
        <>
          <PromptPicker
            projectId={projectId}
            value={edit.prompt}
            onChange={(prompt) => change({ prompt })}
            label={`Prompt of edit ${number}`}
            placeholder="Search prompts"
          />
          <p className={editor.hint}>Values for its variables, as a JSON object.</p>
          <Code
            label={`Variables of edit ${number}`}
            language="json"
            minHeight={30}
            maxHeight={160}
            placeholder='{ "product": "Looptrace" }'
            value={edit.variables}
            onChange={(variables) => change({ variables })}
          />
        </>
      );
    case "messages":
    case "response":
      return <MessageFields {...props} change={change} />;
    case "tool_schema":
      return <SchemaField {...props} change={change} />;
    case "tool_error":
      return (
        <div className={classes.fields}>
          <TextInput
            size="xs"
            label="Type"
            placeholder="TimeoutError"
            maxLength={200}
            value={edit.errorType}
            onChange={(event) => change({ errorType: event.currentTarget.value })}
          />
          <TextInput
            size="xs"
            label="Message"
            placeholder="The service does not answer."
            value={edit.errorMessage}
            onChange={(event) => change({ errorMessage: event.currentTarget.value })}
          />
        </div>
      );
    case "timeout_ms":
    case "retries":
      return (
        <NumberInput
          size="xs"
          w={200}
          aria-label={`${edit.change === "retries" ? "Retries" : "Milliseconds"} of edit ${number}`}
          suffix={edit.change === "retries" ? undefined : " ms"}
          placeholder={edit.change === "retries" ? "2" : "2000 ms"}
          min={0}
          clampBehavior="none"
          value={edit.number}
          onChange={(value) => change({ number: String(value) })}
        />
      );
  }
}

const TEXTS = { system_prompt: "System prompt", input: "Input", tool_result: "Result" };

function ModelField({ projectId, edit, number, recorded, providerId, onChange }: Props) {
  const models = useProviderModels(projectId, providerId);
  const names = [...new Set(models.data?.data.map(({ id }) => id) ?? [])];
  return (
    <Autocomplete
      size="xs"
      maw={420}
      aria-label={`Model of edit ${number}`}
      placeholder={recordedModel(recorded) || "model"}
      data={names}
      limit={100}
      maxLength={200}
      value={edit.model}
      onChange={(model) => onChange({ ...edit, model })}
    />
  );
}

interface ChangeProps extends Props {
  change: (changed: Partial<EditDraft>) => void;
}

function MessageFields({ edit, recorded, change }: ChangeProps) {
  const { change: what } = edit;
  const { opened } = recorded;
  const start = useMemo((): DraftMessage[] => {
    if (what === "messages") return draftMessages(opened?.messages ?? []);
    return opened?.output
      ? draftMessages([opened.output])
      : [{ id: newId(), kind: "text", role: "assistant", text: "", more: "" }];
  }, [what, opened]);
  return (
    <MessagesEditor
      key={start[0]?.id}
      messages={edit.messages ?? start}
      format="none"
      variables={[]}
      errors={[]}
      isSingle={what === "response"}
      onChange={(messages) => change({ messages })}
    />
  );
}

function SchemaField({ edit, number, recorded, change }: ChangeProps) {
  const definitions = definitionsOf(recorded);
  return (
    <>
      <Select
        size="xs"
        maw={300}
        aria-label={`Tool of edit ${number}`}
        placeholder={definitions.size === 0 ? "no definition was recorded" : "Choose a tool"}
        data={[...definitions.keys()]}
        onChange={(name) => change({ schema: definitions.get(name ?? "") ?? null })}
        mb={6}
      />
      <Code
        label={`Definition of edit ${number}`}
        language="json"
        minHeight={60}
        maxHeight={360}
        placeholder='{ "type": "function", "function": { "name": "…" } }'
        value={edit.schema ?? ""}
        onChange={(schema) => change({ schema })}
      />
    </>
  );
}
