import { Alert, Text, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useMemo, useState } from "react";
import { ApiError } from "@/api/problem";
import { useRenderedDraft } from "@/api/prompts";
import type { PromptVersionCreate } from "@/api/types";
import { Code } from "@/components/Code";
import { formatCount } from "@/components/format";
import type { DraftVariable } from "./draft";
import classes from "./Editor.module.css";
import { MessageList } from "./MessageList";
import { ErrorText } from "./MessagesEditor";
import { previewOf, valuesOf } from "./preview";

interface Props {
  projectId: string;
  content: PromptVersionCreate;
  /** Whether the content has errors: then the server isn't asked. */
  isBroken: boolean;
  variables: readonly DraftVariable[];
}

/** Renders a draft with values that the reader types. */
export function Preview({ projectId, content, isBroken, variables }: Props) {
  const [texts, setTexts] = useState<Record<string, string>>({});
  const [lists, setLists] = useState<Record<string, string>>({});
  const placeholders = useMemo(
    () => [
      ...new Set(
        content.messages.flatMap(({ type, name }) => (type === "placeholder" && name ? [name] : [])),
      ),
    ],
    [content],
  );
  const { values, errors } = useMemo(
    () => valuesOf(variables, texts, placeholders, lists),
    [variables, texts, placeholders, lists],
  );
  const preview = useMemo(() => previewOf(content, values), [content, values]);
  const isComplete =
    !isBroken && Object.keys(errors).length === 0 && preview.problems.length === 0 && !preview.hasSyntaxError;
  const [draft] = useDebouncedValue(
    useMemo(
      () => (isComplete ? { project_id: projectId, version: content, ...values } : null),
      [isComplete, projectId, content, values],
    ),
    500,
  );
  const rendered = useRenderedDraft(isComplete ? draft : null);
  return (
    <div data-testid="preview-pane">
      {variables.length + placeholders.length > 0 && (
        <div className={classes.values}>
          {variables.map((variable) => (
            <Value
              key={variable.name}
              variable={variable}
              text={texts[variable.name] ?? variable.example}
              error={errors[variable.name]}
              onChange={(text) => setTexts((known) => ({ ...known, [variable.name]: text }))}
            />
          ))}
          {placeholders.map((name) => (
            <div key={name}>
              <span className={classes.label}>{name}</span>
              <Text size="xs" c="dimmed">
                A list of messages as JSON.
              </Text>
              <Code
                label={`Messages of ${name}`}
                language="json"
                minHeight={30}
                maxHeight={160}
                value={lists[name] ?? ""}
                placeholder='[{ "role": "user", "content": "Hello" }]'
                onChange={(text) => setLists((known) => ({ ...known, [name]: text }))}
              />
              {errors[name] && <ErrorText>{errors[name]}</ErrorText>}
            </div>
          ))}
        </div>
      )}
      <div role="status">
        {preview.problems.length > 0 && (
          <Alert
            variant="light"
            color="yellow"
            p="xs"
            mb="xs"
            data-testid="preview-problems"
            c="var(--lt-text)"
          >
            {preview.problems.map((problem) => (
              <div key={problem}>{problem}</div>
            ))}
          </Alert>
        )}
      </div>
      <MessageList messages={preview.messages} />
      <Text size="xs" c="dimmed" mt="xs" data-testid="preview-tokens">
        {!isComplete
          ? "Tokens are counted when every variable has a value."
          : rendered.data
            ? `About ${formatCount(rendered.data.tokens)} tokens (${rendered.data.tokenizer})${tools(content)}`
            : rendered.error
              ? `Not counted: ${rendered.error instanceof ApiError ? (rendered.error.problem?.detail ?? rendered.error.message) : rendered.error.message}`
              : "Counting tokens…"}
      </Text>
    </div>
  );
}

function tools({ tools: list = [] }: PromptVersionCreate): string {
  if (list.length === 0) return "";
  return list.length === 1 ? ", with 1 tool" : `, with ${list.length} tools`;
}

interface ValueProps {
  variable: DraftVariable;
  text: string;
  error: string | undefined;
  onChange: (text: string) => void;
}

function Value({ variable, text, error, onChange }: ValueProps) {
  const { name, type, required, default: standard, description } = variable;
  return (
    <TextInput
      size="xs"
      label={name}
      description={description || undefined}
      placeholder={
        standard !== "" ? `default: ${standard}` : required ? (type === "any" ? "value" : type) : "nothing"
      }
      value={text}
      onChange={(event) => onChange(event.currentTarget.value)}
      error={error}
    />
  );
}
