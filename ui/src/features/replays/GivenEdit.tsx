import { Button } from "@mantine/core";
import { IconTrash } from "@tabler/icons-react";
import type { ReplayEdit } from "@/api/types";
import { ErrorText } from "@/components/editor/ErrorText";
import { IconButton } from "@/components/IconButton";
import { setText } from "./EditsTab";
import evidence from "./Evidence.module.css";
import { CHANGES, type EditDraft, withChange } from "./edits";
import classes from "./Replays.module.css";

interface Props {
  edit: EditDraft;
  given: ReplayEdit;
  number: number;
  errors: readonly string[];
  onChange: (edit: EditDraft) => void;
  onRemove: () => void;
}

/** An edit that the form starts with. It is used as it is, unless someone makes another one of it. */
export function GivenEdit({ edit, given, number, errors, onChange, onRemove }: Props) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset has a border and a width of its own
    <div className={classes.edit} role="group" aria-label={`Edit ${number}`} data-testid="edit">
      <div className={classes.given}>
        <span>
          {CHANGES[edit.change].label} of <bdi>{targetText(given.target)}</bdi>
        </span>
        <Button size="compact-xs" variant="default" onClick={() => onChange(withChange(edit, edit.change))}>
          Change
        </Button>
        <IconButton label={`Remove edit ${number}`} icon={<IconTrash size={14} />} onClick={onRemove} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard */}
      <pre className={evidence.pre} tabIndex={0}>
        {setText(given.set)}
      </pre>
      {errors.map((message) => (
        <ErrorText key={message}>{message}</ErrorText>
      ))}
    </div>
  );
}

function targetText(target: ReplayEdit["target"]): string {
  if (target === "all") return "all model calls";
  if ("span_id" in target) return "one step";
  if (target.kind === "tool") return target.name ? `all calls of ${target.name}` : "all tool calls";
  return `model calls of ${target.name ?? "the step"}`;
}
