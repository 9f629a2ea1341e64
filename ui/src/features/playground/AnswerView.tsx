import { Button, Text, Textarea } from "@mantine/core";
import { IconTool } from "@tabler/icons-react";
import { memo, useState } from "react";
import { formatBytes } from "@/components/format";
import { RecordedText } from "@/components/RecordedText";
import classes from "./Answer.module.css";
import { type Answer, pendingCalls, type ToolCall, type Turn } from "./answer";
import { ModelText, Pieces } from "./Formatted";

interface Props {
  answer: Answer;
  /** The result that a tool has, if it is known. */
  suggestion: (tool: string) => string;
  /** Missing if the user may not run completions. */
  onResults?: (results: Extract<Turn, { kind: "tool" }>[]) => void;
}

/** The messages of a model, its calls of tools, and their results. */
export function AnswerView({ answer, suggestion, onResults }: Props) {
  const pending = pendingCalls(answer);
  const isRunning = answer.status === "running";
  return (
    <div className={classes.turns}>
      {answer.turns.map((turn, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: turns are only added at the end
        <TurnView key={index} turn={turn} isRunning={isRunning} />
      ))}
      {isRunning && answer.turns.length === 0 && (
        <Text size="sm" c="dimmed">
          Waiting for the model…
        </Text>
      )}
      {pending.length > 0 && onResults && (
        <PendingCalls
          key={pending.map(({ id }) => id).join()}
          calls={pending}
          suggestion={suggestion}
          onResults={onResults}
        />
      )}
    </div>
  );
}

const TurnView = memo(({ turn, isRunning }: { turn: Turn; isRunning: boolean }) => {
  if (turn.kind === "tool") {
    return (
      <div className={classes.tool} data-testid="tool-result">
        <div className={classes.label}>
          Result of <bdi>{turn.name}</bdi>
        </div>
        <Value text={turn.content} what={`result of ${turn.name}`} />
      </div>
    );
  }
  const isDone = turn.isDone || !isRunning;
  return (
    <div data-testid="model-turn">
      {turn.reasoning.length > 0 && <Reasoning pieces={turn.reasoning} />}
      {turn.text.length > 0 && <ModelText pieces={turn.text} isDone={isDone} />}
      {turn.calls.map((call, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a call has no id before its first piece
        <Call key={index} call={call} isDone={isDone} />
      ))}
      {turn.isDone && turn.text.length === 0 && turn.calls.length === 0 && (
        <Text size="sm" c="dimmed">
          The model returned nothing.
        </Text>
      )}
    </div>
  );
});

function Reasoning({ pieces }: { pieces: readonly string[] }) {
  const [isOpen, setOpen] = useState(false);
  const size = pieces.reduce((sum, piece) => sum + piece.length, 0);
  return (
    <div className={classes.reasoning}>
      <button
        type="button"
        className={classes.toggle}
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        {isOpen ? "▾" : "▸"} Reasoning <span className={classes.size}>{formatBytes(size)}</span>
      </button>
      {isOpen && <Pieces pieces={pieces} />}
    </div>
  );
}

function Call({ call, isDone }: { call: ToolCall; isDone: boolean }) {
  return (
    <div className={classes.call} data-testid="tool-call">
      <div className={classes.label}>
        <IconTool size={13} aria-hidden="true" /> Calls{" "}
        <code>
          <bdi>{call.name || "…"}</bdi>
        </code>
      </div>
      {isDone ? (
        <Value text={call.arguments} what={`arguments of ${call.name}`} />
      ) : (
        <div className={classes.plain}>{call.arguments}</div>
      )}
    </div>
  );
}

function Value({ text, what }: { text: string; what: string }) {
  if (text === "") return <span className={classes.size}>nothing</span>;
  return <RecordedText text={text} what={what} plain framed={false} />;
}

interface PendingProps {
  calls: ToolCall[];
  suggestion: (tool: string) => string;
  onResults: (results: Extract<Turn, { kind: "tool" }>[]) => void;
}

/** Fields for the results of calls. All are sent together, as the model needs them. */
function PendingCalls({ calls, suggestion, onResults }: PendingProps) {
  const [texts, setTexts] = useState(() => calls.map(({ name }) => suggestion(name)));
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    onResults(
      calls.map(({ id, name }, index) => ({ kind: "tool", callId: id, name, content: texts[index] ?? "" })),
    );
  };
  return (
    <form className={classes.pending} onSubmit={submit} data-testid="pending-calls">
      {calls.map((call, index) => (
        <Textarea
          key={call.id}
          size="xs"
          label={
            <>
              Result of <bdi>{call.name}</bdi>
            </>
          }
          placeholder="What the tool returns"
          autosize
          minRows={2}
          maxRows={12}
          value={texts[index] ?? ""}
          onChange={(event) => setTexts(texts.with(index, event.currentTarget.value))}
        />
      ))}
      <Button type="submit" size="compact-sm">
        {calls.length === 1 ? "Send result" : `Send ${calls.length} results`}
      </Button>
    </form>
  );
}
