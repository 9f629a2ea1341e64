import { Alert, Text } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useMemo, useState } from "react";
import { whyOf } from "@/api/problem";
import { useRenderedDraft } from "@/api/prompts";
import type { PromptVersionCreate } from "@/api/types";
import type { DraftVariable } from "@/components/editor/draft";
import { MessageList } from "@/components/editor/MessageList";
import { previewOf, valuesOf } from "@/components/editor/preview";
import { ValueFields } from "@/components/editor/ValueFields";
import { formatCountOf } from "@/components/format";
import { placeholdersOf } from "@/components/renderVersion";

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
  const placeholders = useMemo(() => placeholdersOf(content).filter((name) => name !== ""), [content]);
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
      <ValueFields
        variables={variables}
        placeholders={placeholders}
        texts={texts}
        lists={lists}
        errors={errors}
        onText={(name, text) => setTexts((known) => ({ ...known, [name]: text }))}
        onList={(name, text) => setLists((known) => ({ ...known, [name]: text }))}
      />
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
          ? "Fill in every variable to count tokens."
          : rendered.data
            ? `About ${formatCountOf(rendered.data.tokens, "token")} (${rendered.data.tokenizer})${tools(content)}`
            : rendered.error
              ? `Not counted: ${whyOf(rendered.error)}`
              : "Counting tokens…"}
      </Text>
    </div>
  );
}

function tools({ tools: list = [] }: PromptVersionCreate): string {
  if (list.length === 0) return "";
  return list.length === 1 ? ", with 1 tool" : `, with ${list.length} tools`;
}
