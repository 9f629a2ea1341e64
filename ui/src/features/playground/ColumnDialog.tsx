import { renderVersion } from "@/components/renderVersion";
import { type Answer, lastText } from "./answer";
import { BatchDialog } from "./BatchDialog";
import type { ColumnAction } from "./ColumnPanel";
import { inputsOf, type Play, prepare } from "./play";
import { RequestDialog } from "./RequestDialog";
import { SaveItemDialog } from "./SaveItemDialog";
import { SaveVersionDialog } from "./SaveVersionDialog";
import type { useColumns } from "./useColumns";

interface Props {
  projectId: string;
  /** See playKey. */
  owner: string;
  play: Play;
  columns: ReturnType<typeof useColumns>;
  index: number;
  action: ColumnAction;
  answer: Answer | undefined;
  onClose: () => void;
}

/** What was chosen in the menu of a column. */
export function ColumnDialog({ projectId, owner, play, columns, index, action, answer, onClose }: Props) {
  const column = play.columns[index];
  const prepared = columns.prepared[index];
  if (!column || !prepared) return null;
  const { draft, content, values } = prepared;
  if (action === "request") {
    return draft && <RequestDialog draft={draft} number={index + 1} onClose={onClose} />;
  }
  if (action === "version") {
    return (
      content && (
        <SaveVersionDialog
          projectId={projectId}
          content={{
            ...content,
            model_config: { ...content.model_config, provider_id: column.providerId || undefined },
          }}
          promptName={(column.prompt ?? play.prompt)?.name ?? ""}
          onClose={onClose}
        />
      )
    );
  }
  if (action === "item") {
    if (!answer || !content || !values) return null;
    return (
      <SaveItemDialog
        projectId={projectId}
        variables={values.variables}
        messages={renderedOf(content, values)}
        output={outputOf(answer)}
        runId={answer.runId}
        onClose={onClose}
      />
    );
  }
  const source = columns.sources[index];
  return (
    <BatchDialog
      projectId={projectId}
      owner={owner}
      column={`Column ${index + 1}`}
      variables={source ? inputsOf([source]).variables.map(({ name }) => name) : []}
      prepare={(given) => prepare(projectId, play, column, columns.versions, { given })}
      onClose={onClose}
    />
  );
}

/** The messages with the values, or as templates if one is missing. */
function renderedOf(...[content, values]: Parameters<typeof renderVersion>): unknown[] {
  try {
    return renderVersion(content, values).messages;
  } catch {
    return [...content.messages];
  }
}

/** An answer that is JSON becomes its value. */
function outputOf(answer: Answer): unknown {
  const text = lastText(answer);
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" ? value : text;
  } catch {
    return text;
  }
}
