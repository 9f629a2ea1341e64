import { WordDiff } from "@/components/Changes";
import { emptyDraft, readDraft } from "@/components/editor/draft";
import { formatDuration, UNKNOWN } from "@/components/format";
import type { EditDraft } from "./edits";
import classes from "./Replays.module.css";
import { changedParams } from "./readEdit";
import {
  definitionsOf,
  type Recorded,
  recordedModel,
  recordedParams,
  recordedText,
  textOf,
} from "./recorded";
import type { RunStep } from "./steps";

interface Props {
  edit: EditDraft;
  steps: readonly RunStep[];
  recorded: Recorded;
}

/** What an edit changes in what was recorded. Nothing while it changes nothing. */
export function EditDifference({ edit, steps, recorded }: Props) {
  switch (edit.change) {
    case "model":
      return (
        <Before>
          <bdi>{recordedModel(recorded) || UNKNOWN}</bdi>
          {edit.model.trim() !== "" && (
            <>
              {" → "}
              <bdi>{edit.model.trim()}</bdi>
            </>
          )}
        </Before>
      );
    case "params":
      return <Params edit={edit} recorded={recorded} />;
    case "timeout_ms":
    case "retries":
      return <Before>{durationsText(steps)}</Before>;
    case "tool_error": {
      const error = recorded.span?.error;
      if (!recorded.span) return null;
      return <Before>{error ? [error.type, error.message].filter(Boolean).join(": ") : "no error"}</Before>;
    }
    case "tool_schema": {
      const before = [...definitionsOf(recorded).values()].find((one) => sameTool(one, edit.schema));
      return before && edit.schema !== null ? <Texts before={before} after={edit.schema} /> : null;
    }
    case "prompt":
      return null;
    default: {
      const before = recordedText(edit, recorded);
      const after = newText(edit);
      return before === null || after === null ? null : <Texts before={before} after={after} />;
    }
  }
}

function Before({ children }: { children: React.ReactNode }) {
  return (
    <p className={classes.before}>
      <span className={classes.dim}>Recorded:</span> {children}
    </p>
  );
}

function Texts({ before, after }: { before: string; after: string }) {
  if (before === after) return null;
  return (
    <section
      className={classes.difference}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
      tabIndex={0}
      aria-label="Difference from the recording"
      data-testid="edit-difference"
    >
      <span className={classes.dim}>Difference from the recording</span>
      <WordDiff before={before} after={after} isSplit={false} sides={["Recorded", "New"]} />
    </section>
  );
}

function Params({ edit, recorded }: { edit: EditDraft; recorded: Recorded }) {
  const before = recordedParams(recorded);
  const changed = changedParams(before, edit.params ?? before, "", {});
  const was = changedParams(edit.params ?? before, before, "", {}) ?? {};
  const names = Object.keys(changed ?? {});
  if (names.length === 0) return null;
  const text = (value: unknown) => (value == null ? "not set" : JSON.stringify(value));
  return (
    <ul className={classes.changes} data-testid="edit-difference">
      {names.map((name) => (
        <li key={name}>
          <code>{name}</code> {text(was[name])} → {text(changed?.[name])}
        </li>
      ))}
    </ul>
  );
}

/** The new text of an edit; null while it is the recorded one. */
function newText(edit: EditDraft): string | null {
  if (edit.messages === null) return edit.text;
  const { messages } = readDraft({ ...emptyDraft(), format: "none", messages: edit.messages }).content;
  return messages.map((message) => textOf(message) ?? "").join("\n\n");
}

function sameTool(definition: string, other: string | null): boolean {
  return other !== null && nameIn(definition) === nameIn(other);
}

function nameIn(definition: string): string | undefined {
  return /"name":\s*"([^"]*)"/.exec(definition)?.[1];
}

/** How long steps took: "200 ms", "45 ms to 3.2 s". */
function durationsText(steps: readonly RunStep[]): string {
  const known = steps.flatMap(({ duration }) => (duration === null ? [] : [duration]));
  if (known.length === 0) return `${UNKNOWN} duration`;
  const [least, most] = [Math.min(...known), Math.max(...known)];
  const range =
    least === most ? formatDuration(least) : `${formatDuration(least)} to ${formatDuration(most)}`;
  const failed = steps.filter(({ isFailed }) => isFailed).length;
  return failed === 0 ? range : `${range}, ${failed} failed`;
}
