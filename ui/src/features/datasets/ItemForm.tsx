import { Autocomplete, Button, Group, SegmentedControl, Stack, TagsInput, TextInput } from "@mantine/core";
import { useHotkeys } from "@mantine/hooks";
import { ApiError } from "@/api/problem";
import { Code } from "@/components/Code";
import { ProblemPanel } from "@/components/ProblemPanel";
import classes from "./Datasets.module.css";
import { convert, type ItemDraft, readDraft, type ValueDraft } from "./itemDraft";
import type { KnownValues } from "./knownValues";

interface Props {
  draft: ItemDraft;
  onChange: (draft: ItemDraft) => void;
  note: string;
  onNote: (note: string) => void;
  known: KnownValues;
  /** Of the last save. */
  error: Error | null;
  isPending: boolean;
  /** What the button says. */
  action: string;
  /** Whether there is anything to save. */
  isDirty: boolean;
  onSubmit: () => void;
  onCancel: () => void;
}

/** The members of an item, to edit. */
export function ItemForm(props: Props) {
  const { draft, onChange, note, onNote, known, error, isPending, action, isDirty, onSubmit, onCancel } =
    props;
  const { errors } = readDraft(draft);
  const problem = error instanceof ApiError ? error : null;
  const fields = ["key", "input", "reference_output", "metadata", "split", "tags"] as const;
  const refusals = Object.fromEntries(
    fields.map((field) => [field, problem?.fieldMessage(`body.${field}`)]),
  ) as Partial<Record<keyof ItemDraft, string>>;
  const messageOf = (field: keyof ItemDraft, label: string) => {
    if (errors[field]) return errors[field];
    return refusals[field] && `${label} ${refusals[field]}`;
  };
  const isShownAtFields = problem?.problem?.errors?.every(({ location }) =>
    fields.some((field) => location === `body.${field}`),
  );
  const canSave = isDirty && Object.keys(errors).length === 0 && !isPending;
  const set = (changed: Partial<ItemDraft>) => onChange({ ...draft, ...changed });
  useHotkeys([["mod+S", () => canSave && onSubmit()]], [], true);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (canSave) onSubmit();
      }}
    >
      <Stack gap="md">
        <Group gap="sm" grow preventGrowOverflow={false} align="flex-start">
          <TextInput
            label="Key"
            placeholder="None"
            description="Your name for the item"
            autoComplete="off"
            spellCheck={false}
            maxLength={256}
            miw={180}
            value={draft.key}
            onChange={(event) => set({ key: event.currentTarget.value })}
            error={messageOf("key", "Key")}
          />
          <Autocomplete
            label="Split"
            placeholder="None"
            description="Such as train or test"
            data={known.splits}
            maxLength={64}
            miw={140}
            value={draft.split}
            onChange={(split) => set({ split })}
            error={messageOf("split", "Split")}
          />
        </Group>
        <TagsInput
          label="Tags"
          placeholder={draft.tags.length === 0 ? "Enter adds a tag" : undefined}
          data={known.tags}
          maxTags={50}
          maxLength={64}
          value={draft.tags}
          onChange={(tags) => set({ tags })}
          error={messageOf("tags", "Tags")}
        />
        <ValueField
          label="Input"
          value={draft.input}
          onChange={(input) => set({ input })}
          error={isUntouched(draft) ? undefined : messageOf("input", "Input")}
        />
        <ValueField
          label="Reference output"
          hint="What a good answer would be. Empty JSON is none."
          value={draft.reference_output}
          onChange={(value) => set({ reference_output: value })}
          error={messageOf("reference_output", "Reference output")}
        />
        <div>
          <div className={classes.label}>Metadata</div>
          <Code
            label="Metadata"
            language="json"
            placeholder={'{"source": "support"}'}
            minHeight={40}
            maxHeight={300}
            value={draft.metadata}
            onChange={(metadata) => set({ metadata })}
          />
          <FieldError message={messageOf("metadata", "Metadata")} />
        </div>
        <TextInput
          label="Note"
          placeholder="Why; kept with the revision"
          autoComplete="off"
          maxLength={2000}
          value={note}
          onChange={(event) => onNote(event.currentTarget.value)}
          error={problem?.fieldMessage("body.note")}
        />
        {error && !isShownAtFields && <ProblemPanel error={error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <Button type="submit" loading={isPending} disabled={!canSave}>
            {action}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** A new item whose input was not begun has no error yet. */
function isUntouched({ input }: ItemDraft): boolean {
  return input.text === "" && input.kind === "json";
}

interface ValueProps {
  label: string;
  hint?: string;
  value: ValueDraft;
  onChange: (value: ValueDraft) => void;
  error?: string;
}

/** Any JSON value: a text as itself, or JSON. */
function ValueField({ label, hint, value, onChange, error }: ValueProps) {
  return (
    <div>
      <div className={classes.label}>
        {label}
        <SegmentedControl
          size="xs"
          aria-label={`Form of ${label.toLowerCase()}`}
          value={value.kind}
          onChange={(kind) => onChange(convert(value, kind as ValueDraft["kind"]))}
          data={[
            { value: "json", label: "JSON" },
            { value: "text", label: "Text" },
          ]}
        />
      </div>
      {hint && <p className={classes.hint}>{hint}</p>}
      <Code
        label={label}
        language={value.kind}
        minHeight={90}
        maxHeight={420}
        value={value.text}
        onChange={(text) => onChange({ ...value, text })}
      />
      <FieldError message={error} />
    </div>
  );
}

function FieldError({ message }: { message: string | undefined }) {
  return message ? (
    <p className={classes.error} role="alert">
      {message}
    </p>
  ) : null;
}
