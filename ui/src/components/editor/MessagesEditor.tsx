import { Alert, Button, Group, Select, TextInput, VisuallyHidden } from "@mantine/core";
import { IconArrowDown, IconArrowUp, IconPlus, IconTrash } from "@tabler/icons-react";
import { useState } from "react";
import { Code } from "@/components/Code";
import { IconButton } from "@/components/IconButton";
import { scan } from "@/components/template";
import { type Draft, type DraftError, type DraftMessage, type DraftPart, newId } from "./draft";
import classes from "./Editor.module.css";
import { ErrorText } from "./ErrorText";
import { ImagePart } from "./ImagePart";

const ROLES = ["system", "developer", "user", "assistant", "tool"];

interface Props {
  messages: DraftMessage[];
  format: Draft["format"];
  /** Names to complete. */
  variables: readonly string[];
  errors: readonly DraftError[];
  /** Whether images may be files, whose content becomes part of the message. */
  takesFiles?: boolean;
  /** There is one message, and no other can be added. */
  isSingle?: boolean;
  onChange: (messages: DraftMessage[]) => void;
}

/** The messages of a draft, in their order. */
export function MessagesEditor(props: Props) {
  const { messages, format, variables, errors, takesFiles = false, isSingle = false, onChange } = props;
  const [moved, setMoved] = useState("");
  const [addedId, setAddedId] = useState<string>();
  const add = (message: DraftMessage) => {
    setAddedId(message.id);
    onChange([...messages, message]);
  };
  const move = (index: number, by: 1 | -1, button: HTMLElement) => {
    const next = messages.toSpliced(index, 1);
    const message = messages[index];
    if (!message) return;
    onChange(next.toSpliced(index + by, 0, message));
    setMoved(`Message ${index + 1} is now message ${index + by + 1}.`);
    // A moved element loses the focus.
    setTimeout(() => button.focus());
  };
  const nextRole = messages.findLast((message) => message.kind !== "placeholder");
  return (
    <div>
      <VisuallyHidden role="status">{moved}</VisuallyHidden>
      <ol className={classes.messages}>
        {messages.map((message, index) => (
          <li key={message.id} className={classes.message} data-testid="message-editor">
            <Message
              takesFiles={takesFiles}
              number={index + 1}
              message={message}
              format={format}
              variables={variables}
              errors={errors}
              autoFocus={message.id === addedId}
              onChange={(changed) => onChange(messages.with(index, changed))}
              actions={
                isSingle ? null : (
                  <>
                    <IconButton
                      label={`Move message ${index + 1} up`}
                      disabled={index === 0}
                      onClick={(event) => move(index, -1, event.currentTarget)}
                      icon={<IconArrowUp size={14} />}
                    />
                    <IconButton
                      label={`Move message ${index + 1} down`}
                      disabled={index === messages.length - 1}
                      onClick={(event) => move(index, 1, event.currentTarget)}
                      icon={<IconArrowDown size={14} />}
                    />
                    <IconButton
                      label={`Remove message ${index + 1}`}
                      disabled={messages.length === 1}
                      onClick={() => onChange(messages.toSpliced(index, 1))}
                      icon={<IconTrash size={14} />}
                    />
                  </>
                )
              }
            />
          </li>
        ))}
      </ol>
      {!isSingle && (
        <Group gap="xs" mt="xs">
          <Button
            size="compact-sm"
            variant="default"
            leftSection={<IconPlus size={13} />}
            onClick={() =>
              add({
                id: newId(),
                kind: "text",
                role: nextRole?.role === "user" ? "assistant" : "user",
                text: "",
                more: "",
              })
            }
          >
            Message
          </Button>
          <Button
            size="compact-sm"
            variant="default"
            leftSection={<IconPlus size={13} />}
            onClick={() => add({ id: newId(), kind: "placeholder", name: "" })}
            title="A place for a list of messages, such as the conversation so far"
          >
            Placeholder
          </Button>
        </Group>
      )}
    </div>
  );
}

interface MessageProps {
  takesFiles: boolean;
  number: number;
  message: DraftMessage;
  format: Draft["format"];
  variables: readonly string[];
  errors: readonly DraftError[];
  autoFocus: boolean;
  onChange: (message: DraftMessage) => void;
  actions: React.ReactNode;
}

function Message(props: MessageProps) {
  const { takesFiles, number, message, format, variables, errors, autoFocus, onChange, actions } = props;
  const error = errors.find(({ at }) => at === message.id)?.message;
  const [showsMore, setShowsMore] = useState(message.kind !== "placeholder" && message.more !== "");
  if (message.kind === "placeholder") {
    return (
      <>
        <div className={classes.head}>
          <span className={classes.kind}>Placeholder</span>
          <Group gap={2} ml="auto" wrap="nowrap">
            {actions}
          </Group>
        </div>
        <TextInput
          size="xs"
          aria-label={`Name of placeholder ${number}`}
          placeholder="history"
          description="Replaced by a list of messages when the prompt is used."
          inputWrapperOrder={["label", "input", "error", "description"]}
          maxLength={128}
          value={message.name}
          onChange={(event) => onChange({ ...message, name: event.currentTarget.value })}
          error={message.name === "" ? undefined : error}
        />
      </>
    );
  }
  const roles = ROLES.includes(message.role) ? ROLES : [...ROLES, message.role];
  return (
    <>
      <div className={classes.head}>
        <Select
          size="xs"
          w={116}
          aria-label={`Role of message ${number}`}
          data={roles}
          value={message.role}
          onChange={(role) => onChange({ ...message, role: role ?? message.role })}
          allowDeselect={false}
          comboboxProps={{ width: 130, position: "bottom-start" }}
        />
        <Group gap={2} ml="auto" wrap="nowrap">
          {message.kind === "text" && (
            <Button
              size="compact-xs"
              variant="subtle"
              color="gray"
              onClick={() => {
                const parts: DraftPart[] = [
                  { id: newId(), kind: "text", text: message.text },
                  { id: newId(), kind: "image", url: "", detail: "" },
                ];
                onChange({ id: message.id, kind: "parts", role: message.role, parts, more: message.more });
              }}
            >
              Add image
            </Button>
          )}
          <Button
            size="compact-xs"
            variant="subtle"
            color="gray"
            aria-expanded={showsMore}
            onClick={() => setShowsMore(!showsMore)}
          >
            More
          </Button>
          {actions}
        </Group>
      </div>
      {message.kind === "text" && (
        <TemplateField
          label={`Message ${number}, ${message.role}`}
          format={format}
          variables={variables}
          value={message.text}
          placeholder={PLACEHOLDERS[message.role] ?? ""}
          autoFocus={autoFocus}
          onChange={(text) => onChange({ ...message, text })}
        />
      )}
      {message.kind === "parts" && (
        <Parts
          takesFiles={takesFiles}
          number={number}
          parts={message.parts}
          format={format}
          variables={variables}
          errors={errors}
          onChange={(parts) => {
            const [only] = parts;
            // Without images it is a text again.
            if (parts.length === 1 && only?.kind === "text") {
              const { id, role, more } = message;
              onChange({ id, kind: "text", role, text: only.text, more });
            } else onChange({ ...message, parts });
          }}
        />
      )}
      {showsMore && (
        <div className={classes.more}>
          <div className={classes.hint}>
            Other members as JSON, such as <code>name</code>, <code>tool_calls</code> or{" "}
            <code>tool_call_id</code>. They are not templates.
          </div>
          <Code
            label={`Other members of message ${number}`}
            language="json"
            minHeight={40}
            value={message.more}
            placeholder='{ "name": "example" }'
            onChange={(more) => onChange({ ...message, more })}
          />
        </div>
      )}
      {error && <ErrorText>{error}</ErrorText>}
    </>
  );
}

const PLACEHOLDERS: Record<string, string> = {
  system: "You are a support agent for {{product}}.",
  user: "{{question}}",
};

interface TemplateFieldProps {
  label: string;
  format: Draft["format"];
  variables: readonly string[];
  value: string;
  placeholder?: string;
  autoFocus?: boolean;
  minHeight?: number;
  onChange: (value: string) => void;
}

/** A text with variables. A syntax error shows below it. */
function TemplateField({ format, value, ...field }: TemplateFieldProps) {
  const error = format === "mustache" ? scan(value).error : null;
  return (
    <>
      <Code {...field} value={value} language={format === "mustache" ? "template" : "text"} />
      {error && (
        <ErrorText>
          Line {error.line}, column {error.column}: {error.reason}
        </ErrorText>
      )}
    </>
  );
}

interface PartsProps {
  takesFiles: boolean;
  number: number;
  parts: DraftPart[];
  format: Draft["format"];
  variables: readonly string[];
  errors: readonly DraftError[];
  onChange: (parts: DraftPart[]) => void;
}

function Parts({ takesFiles, number, parts, format, variables, errors, onChange }: PartsProps) {
  return (
    <>
      <ol className={classes.parts}>
        {parts.map((part, index) => {
          const label = `part ${index + 1} of message ${number}`;
          const change = (changed: DraftPart) => onChange(parts.with(index, changed));
          return (
            <li key={part.id} className={classes.part}>
              <div className={classes.partBody}>
                {part.kind === "text" && (
                  <TemplateField
                    label={`Text, ${label}`}
                    format={format}
                    variables={variables}
                    minHeight={36}
                    value={part.text}
                    onChange={(text) => change({ ...part, text })}
                  />
                )}
                {part.kind === "image" && (
                  <ImagePart
                    part={part}
                    label={label}
                    format={format}
                    takesFiles={takesFiles}
                    onChange={change}
                  />
                )}
                {part.kind === "json" && (
                  <>
                    <Code
                      label={`JSON, ${label}`}
                      language="json"
                      minHeight={36}
                      value={part.json}
                      onChange={(json) => change({ ...part, json })}
                    />
                    {errors.some(({ at }) => at === part.id) && <ErrorText>This isn't valid JSON.</ErrorText>}
                  </>
                )}
              </div>
              <IconButton
                label={`Remove ${label}`}
                disabled={parts.length === 1}
                onClick={() => onChange(parts.toSpliced(index, 1))}
                icon={<IconTrash size={14} />}
              />
            </li>
          );
        })}
      </ol>
      <Group gap={4} mt={4}>
        <Button
          size="compact-xs"
          variant="subtle"
          color="gray"
          onClick={() => onChange([...parts, { id: newId(), kind: "text", text: "" }])}
        >
          Add text
        </Button>
        <Button
          size="compact-xs"
          variant="subtle"
          color="gray"
          onClick={() => onChange([...parts, { id: newId(), kind: "image", url: "", detail: "" }])}
        >
          Add image
        </Button>
        <Button
          size="compact-xs"
          variant="subtle"
          color="gray"
          onClick={() => onChange([...parts, { id: newId(), kind: "json", json: '{\n  "type": ""\n}' }])}
        >
          Add JSON
        </Button>
      </Group>
    </>
  );
}

/** Explains why nothing is marked. */
export function PlainNote({ format }: { format: Draft["format"] }) {
  if (format === "mustache") return null;
  return (
    <Alert variant="light" color="gray" p="xs">
      Texts are sent as they are: the template format under Advanced is “none”.
    </Alert>
  );
}
