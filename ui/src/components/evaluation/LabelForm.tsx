import { Button, Checkbox, NumberInput, SegmentedControl, TextInput } from "@mantine/core";
import { type ReactNode, useRef, useState } from "react";
import { useMe } from "@/api/identity";
import { type LabelledOutput, useRemoveLabel, useWriteLabel } from "@/api/judges";
import type { Label, LabelWrite, PanelRead } from "@/api/types";
import { authorName } from "@/components/author";
import { ProblemPanel } from "@/components/ProblemPanel";
import { useKeys } from "@/components/useKeys";
import classes from "./Labels.module.css";
import { agreementText, hasValue, labelChoices, splitLabels, writtenValue } from "./labels";
import { valueText } from "./votes";

interface Props {
  /** Such as "Your label". */
  title: string;
  output: LabelledOutput;
  repeat: number;
  /** All of the output. */
  labels: readonly Label[];
  panel: PanelRead;
  /** Whether keys label this output, and no other on the page. */
  hasKeys: boolean;
  mayLabel: boolean;
  /** Settings in the head. */
  children?: ReactNode;
  onNext: () => void;
}

interface SettingsProps {
  panels: readonly PanelRead[];
  panel: PanelRead;
  isBlind: boolean;
  /** What is hidden until the reader has labelled. */
  hidden: string;
  onPanel: (panel: string | null) => void;
  onBlind: (isBlind: boolean) => void;
}

/** The panel to label for, and whether its votes are hidden. */
export function LabelSettings({ panels, panel, isBlind, hidden, onPanel, onBlind }: SettingsProps) {
  return (
    <>
      {panels.length > 1 && (
        <SegmentedControl
          size="xs"
          aria-label="Panel to label for"
          value={panel.name}
          onChange={(name) => onPanel(name === panels[0]?.name ? null : name)}
          data={panels.map(({ name }) => name)}
        />
      )}
      <Checkbox
        size="xs"
        ml="auto"
        label={`Hide ${hidden} until I have labelled`}
        checked={isBlind}
        onChange={(event) => onBlind(event.currentTarget.checked)}
      />
    </>
  );
}

/** The reader's own judgement of an output, by keyboard, and those of others once it is there. */
export function LabelForm(props: Props) {
  const { title, labels, panel, mayLabel, children } = props;
  const { mine, others } = splitLabels(labels, panel.name, useMe().data?.user);
  if (!mayLabel && others.length === 0 && !mine) return null;
  return (
    <section className={classes.root} aria-label={title} data-testid="labels-form">
      <div className={classes.head}>
        <h3>{title}</h3>
        {children}
      </div>
      {mayLabel && <Own key={`${panel.name} ${mine?.created_at ?? ""}`} {...props} mine={mine} />}
      {mayLabel && mine === undefined ? (
        others.length > 0 && (
          <p className={classes.dim}>
            {others.length === 1 ? "Another person has" : `${others.length} others have`} labelled this
            output. You see it when you have, too.
          </p>
        )
      ) : (
        <>
          <Others labels={mayLabel || !mine ? others : [mine, ...others]} />
          <Agreement labels={mine ? [mine, ...others] : others} />
        </>
      )}
    </section>
  );
}

function Own({ output, repeat, panel, hasKeys, mine, onNext }: Props & { mine: Label | undefined }) {
  const scale = panel.judges[0]?.scale ?? { type: "binary" as const };
  const choices = labelChoices(scale);
  const write = useWriteLabel(output);
  const remove = useRemoveLabel(output);
  const [note, setNote] = useState(mine?.note ?? "");
  const [number, setNumber] = useState<number | string>(mine?.value ?? "");
  const noteField = useRef<HTMLInputElement>(null);
  const at = { panel: panel.name, repeat };
  const save = (value: LabelWrite["value"]) =>
    write.mutate({ ...at, value, ...(note.trim() !== "" && { note: note.trim() }) });
  const saveNote = () => {
    const value = mine && writtenValue(mine, scale);
    if (value !== undefined && value !== null && note.trim() !== mine?.note) save(value);
  };
  const byKey = Object.fromEntries(
    (choices ?? []).flatMap(({ key, value }) => (key === null ? [] : [[key, () => save(value)]])),
  );
  useKeys(hasKeys ? { ...byKey, n: () => noteField.current?.focus() } : {});
  return (
    <>
      <div className={classes.choices}>
        {choices ? (
          choices.map((choice) => (
            <Button
              key={choice.text}
              size="compact-sm"
              variant={mine && hasValue(mine, choice) ? "filled" : "default"}
              aria-pressed={mine !== undefined && hasValue(mine, choice)}
              disabled={write.isPending}
              onClick={() => save(choice.value)}
              rightSection={
                hasKeys &&
                choice.key !== null &&
                choice.key !== choice.text && <kbd className={classes.key}>{choice.key}</kbd>
              }
            >
              <bdi>{choice.text}</bdi>
            </Button>
          ))
        ) : (
          <>
            <NumberInput
              size="xs"
              w={140}
              aria-label={`Value from ${scale.min} to ${scale.max}`}
              placeholder={`${scale.min} to ${scale.max}`}
              min={scale.min}
              max={scale.max}
              allowDecimal={scale.type === "numeric"}
              value={number}
              onChange={(value) => setNumber(typeof value === "bigint" ? Number(value) : value)}
            />
            <Button
              size="compact-sm"
              variant="default"
              disabled={number === ""}
              loading={write.isPending}
              onClick={() => save(Number(number))}
            >
              Label
            </Button>
          </>
        )}
        <TextInput
          ref={noteField}
          size="xs"
          className={classes.note}
          aria-label="Note of your label"
          placeholder={hasKeys ? "Why (n)" : "Why"}
          maxLength={2000}
          autoComplete="off"
          value={note}
          onChange={(event) => setNote(event.currentTarget.value)}
          onBlur={saveNote}
          onKeyDown={(event) => {
            if (event.key === "Enter" || event.key === "Escape") {
              event.stopPropagation();
              event.currentTarget.blur();
            }
          }}
        />
        {mine && (
          <Button
            size="compact-sm"
            variant="default"
            loading={remove.isPending}
            onClick={() => remove.mutate(at)}
          >
            Remove
          </Button>
        )}
        <Button
          size="compact-sm"
          variant="default"
          rightSection={<kbd className={classes.key}>j</kbd>}
          onClick={onNext}
        >
          Next item
        </Button>
      </div>
      <p className={classes.dim} role="status">
        {write.isPending
          ? "Saving…"
          : mine
            ? "Saved. The result follows in a moment."
            : `${choices && hasKeys ? "Press its key. " : ""}A label belongs to the item and the output: every eval-run and comparison that has the same output has it.`}
      </p>
      {(write.error ?? remove.error) && <ProblemPanel error={(write.error ?? remove.error) as Error} />}
    </>
  );
}

function Agreement({ labels }: { labels: readonly Label[] }) {
  const text = agreementText(labels);
  return (
    text !== null && (
      <p className={classes.dim} data-testid="label-agreement">
        {text}
      </p>
    )
  );
}

function Others({ labels }: { labels: readonly Label[] }) {
  if (labels.length === 0) return null;
  return (
    <ul className={classes.others} aria-label="Labels of others">
      {labels.map((label) => (
        <li key={authorName(label.author)}>
          <strong>
            <bdi>{valueText(label)}</bdi>
          </strong>{" "}
          by <bdi>{authorName(label.author)}</bdi>
          {label.note !== "" && (
            <span className={classes.dim} dir="auto">
              : {label.note}
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}
