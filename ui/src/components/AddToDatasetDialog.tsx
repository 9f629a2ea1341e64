import { Button, Group, Loader, SegmentedControl, Select, Stack, TagsInput, TextInput } from "@mantine/core";
import { useDebouncedValue, useMediaQuery } from "@mantine/hooks";
import { useMemo, useState } from "react";
import { ApiError } from "@/api/problem";
import { type RunItemsDraft, useAddRuns, useRunItems } from "@/api/runItems";
import type { Dataset, RunFilter, RunsAdded } from "@/api/types";
import classes from "./AddToDatasetDialog.module.css";
import { DatasetChoice } from "./DatasetChoice";
import { Dialog } from "./Dialog";
import { formatRuns } from "./format";
import { KINDS } from "./KindIcon";
import { ProblemPanel } from "./ProblemPanel";
import { Added, ItemPreviews, Plan } from "./RunItemResults";
import {
  formErrors,
  type ItemForm,
  type ItemPaths,
  type Preset,
  presetOf,
  presets,
  requestOf,
  spanPresetName,
} from "./runItems";

/** Which runs to add: by id, or all that match a filter. */
export type AddedRuns = { run_ids: string[] } | { filter: RunFilter };

interface Props {
  projectId: string;
  runs: AddedRuns;
  /** The span of the run that becomes the item. Missing, the run, or a span of each that the user chooses. */
  span?: { id: string; isModelCall: boolean };
  /** Names what is added: “planner”. */
  name: string;
  onClose: () => void;
}

/** The API previews at most this many runs. */
const PREVIEWED = 5;
const CUSTOM = "Custom";

/** Makes items of a dataset from runs, with a preview of the first of them. */
export function AddToDatasetDialog(props: Props) {
  const isNarrow = useMediaQuery("(max-width: 48em)", false, { getInitialValueInEffect: false });
  const [dataset, setDataset] = useState<Dataset | null>(null);
  const [added, setAdded] = useState<RunsAdded | null>(null);
  return (
    <Dialog
      onClose={props.onClose}
      title={`Add ${props.name} to a dataset`}
      size={added ? "md" : 1080}
      fullScreen={isNarrow}
    >
      {added && dataset ? (
        <Added added={added} dataset={dataset} projectId={props.projectId} onClose={props.onClose} />
      ) : (
        <AddForm {...props} dataset={dataset} onDataset={setDataset} onAdded={setAdded} />
      )}
    </Dialog>
  );
}

interface FormProps extends Props {
  dataset: Dataset | null;
  onDataset: (dataset: Dataset | null) => void;
  onAdded: (added: RunsAdded) => void;
}

function AddForm({ projectId, span, dataset, onDataset, onAdded, onClose, ...props }: FormProps) {
  const [runs] = useState(props.runs);
  const [form, setForm] = useState<ItemForm>(
    () => (span?.isModelCall ? presets.find(({ source }) => source.of === "span") : presets[0]) as Preset,
  );
  const [split, setSplit] = useState("");
  const [tags, setTags] = useState<string[]>([]);
  const [note, setNote] = useState("");
  const errors = formErrors(span ? { ...form, source: { of: "run" } } : form);
  const isComplete = dataset !== null && Object.keys(errors).length === 0;

  const spanId = span?.id;
  const wanted = useMemo<RunItemsDraft | null>(
    () => (isComplete ? { dataset_id: dataset.id, ...runs, ...requestOf(form, spanId) } : null),
    [isComplete, dataset, runs, form, spanId],
  );
  const [draft] = useDebouncedValue(wanted, 400);
  const plan = useRunItems(draft);
  // The preview of many runs doesn't wait for all of them.
  const [first, setFirst] = useState<string[]>();
  const known = "run_ids" in runs ? runs.run_ids.slice(0, PREVIEWED) : first;
  const found = plan.data?.preview.map(({ run_id }) => run_id);
  if (first === undefined && found !== undefined && found.length > 0) setFirst(found);
  const isMany = !("run_ids" in runs) || runs.run_ids.length > PREVIEWED;
  const quick = useRunItems(draft && known && isMany ? { ...withoutFilter(draft), run_ids: known } : null);
  const preview = isMany && quick.data ? quick : plan;

  const add = useAddRuns({ id: dataset?.id ?? "", project_id: projectId });
  const problem = [add.error, plan.error, quick.error].find((error) => error instanceof ApiError);
  const fieldError = (field: string) => {
    const message = problem?.fieldMessage(`body.${field}`);
    return message && `This ${message}`;
  };
  const isPathError = ["map.input", "map.reference_output", "map.metadata"].some(fieldError);
  const isCurrent = draft !== null && draft === wanted && plan.isSuccess && !plan.isPlaceholderData;
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    if (!isCurrent || !plan.data) return;
    const { dataset_id: _, ...chosen } = draft;
    add.mutate(
      {
        ...chosen,
        split: split.trim() || undefined,
        tags: tags.length > 0 ? tags : undefined,
        note: note.trim() || undefined,
        received_before: "filter" in runs ? plan.data.as_of : undefined,
      },
      { onSuccess: onAdded },
    );
  };
  return (
    <form onSubmit={submit}>
      <div className={classes.columns}>
        <Stack gap="sm">
          <DatasetChoice projectId={projectId} value={dataset} onChange={onDataset} />
          <ItemFields
            form={form}
            onChange={setForm}
            isOneSpan={span !== undefined}
            isOneRun={countOf(runs) === 1}
            errors={errors}
            fieldError={fieldError}
          />
          <Group gap="sm" align="flex-start" grow>
            <TextInput
              label="Split"
              placeholder="test"
              maxLength={64}
              autoComplete="off"
              value={split}
              onChange={(event) => setSplit(event.currentTarget.value)}
              error={fieldError("split")}
            />
            <TagsInput
              label="Tags"
              placeholder={tags.length === 0 ? "Enter after each" : undefined}
              maxTags={50}
              value={tags}
              onChange={setTags}
              error={tags.map((_, index) => fieldError(`tags[${index}]`)).find(Boolean)}
            />
          </Group>
          <TextInput
            label="Note"
            placeholder="Why. It is kept with the revision."
            maxLength={2000}
            autoComplete="off"
            value={note}
            onChange={(event) => setNote(event.currentTarget.value)}
            error={fieldError("note")}
          />
        </Stack>
        <section className={classes.preview} aria-label="Preview">
          <h3 className={classes.heading}>
            {countOf(runs) === 1
              ? "Preview"
              : `Preview of the first ${Math.min(countOf(runs), PREVIEWED)} runs`}
            {dataset && (plan.isFetching || quick.isFetching) && (
              <Loader size={12} role="status" aria-label="Loading" />
            )}
          </h3>
          {!dataset ? (
            <p className={classes.hint}>Choose a dataset to see the items.</p>
          ) : isPathError || errors.input || errors.span ? (
            <p className={classes.hint}>Correct what is marked to see the items.</p>
          ) : (
            preview.data && (
              <ItemPreviews previews={preview.data.preview} isStale={!isCurrent && preview === plan} />
            )
          )}
        </section>
      </div>
      <div className={classes.footer}>
        <div role="status" className={classes.status} data-testid="add-plan">
          {isCurrent && plan.data && <Plan plan={plan.data} projectId={projectId} />}
          {dataset &&
            plan.isFetching &&
            !isCurrent &&
            `Reading ${isMany ? "the runs" : formatRuns(countOf(runs))}…`}
        </div>
        {problem && !isPathError && <ProblemPanel error={problem} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={add.isPending} disabled={!isCurrent || plan.data?.added === 0}>
            {isCurrent && plan.data ? `Add ${formatItems(plan.data.added)}` : "Add items"}
          </Button>
        </Group>
      </div>
    </form>
  );
}

/** How many runs there are at most. */
function countOf(runs: AddedRuns): number {
  return "run_ids" in runs ? runs.run_ids.length : Number.POSITIVE_INFINITY;
}

function formatItems(count: number): string {
  return count === 1 ? "1 item" : `${count.toLocaleString("en")} items`;
}

function withoutFilter({ filter: _, ...rest }: RunItemsDraft): RunItemsDraft {
  return rest;
}

interface FieldsProps {
  form: ItemForm;
  onChange: (form: ItemForm) => void;
  isOneSpan: boolean;
  isOneRun: boolean;
  errors: { input?: string; span?: string };
  fieldError: (field: string) => string | undefined;
}

/** What becomes the item: a preset, or a span and JSON paths. */
function ItemFields({ form, onChange, isOneSpan, isOneRun, errors, fieldError }: FieldsProps) {
  const { source, paths } = form;
  const labelOf = (preset: Preset) => (isOneSpan ? spanPresetName(preset) : preset.name);
  const preset = presetOf(form, isOneSpan);
  const choose = (label: string | null) => {
    const chosen = presets.find((one) => labelOf(one) === label);
    if (chosen) onChange({ source: chosen.source, paths: chosen.paths });
  };
  const setPath = (part: keyof ItemPaths, value: string) =>
    onChange({ source, paths: { ...paths, [part]: value } });
  return (
    <>
      <Select
        label="What becomes the item"
        data={[...presets.map(labelOf), ...(preset ? [] : [CUSTOM])]}
        value={preset ? labelOf(preset) : CUSTOM}
        onChange={choose}
        allowDeselect={false}
      />
      {!isOneSpan && (
        <SegmentedControl
          size="xs"
          aria-label="Take it from"
          value={source.of}
          onChange={(of) =>
            onChange({
              paths,
              source: of === "run" ? { of } : { of: "span", kind: "llm", name: "", occurrence: "last" },
            })
          }
          data={[
            { value: "run", label: "The whole run" },
            { value: "span", label: isOneRun ? "A span" : "A span of each run" },
          ]}
        />
      )}
      {!isOneSpan && source.of === "span" && (
        <Group gap="xs" align="flex-start" wrap="nowrap">
          <Select
            label="Which"
            w={90}
            data={[
              { value: "last", label: "Last" },
              { value: "first", label: "First" },
            ]}
            value={source.occurrence}
            onChange={(value) =>
              onChange({ paths, source: { ...source, occurrence: value as "first" | "last" } })
            }
            allowDeselect={false}
          />
          <Select
            label="Kind"
            flex={1}
            placeholder="any"
            data={KINDS}
            searchable
            clearable
            clearButtonProps={{ "aria-label": "Clear the kind" }}
            value={source.kind || null}
            onChange={(kind) => onChange({ paths, source: { ...source, kind: kind ?? "" } })}
            error={errors.span}
          />
          <TextInput
            label="Name"
            flex={1}
            placeholder="any"
            autoComplete="off"
            value={source.name}
            onChange={(event) => onChange({ paths, source: { ...source, name: event.currentTarget.value } })}
          />
        </Group>
      )}
      <PathField
        label="Input"
        value={paths.input}
        onChange={(value) => setPath("input", value)}
        error={errors.input ?? fieldError("map.input")}
      />
      <PathField
        label="Reference output"
        placeholder="none"
        value={paths.reference}
        onChange={(value) => setPath("reference", value)}
        error={fieldError("map.reference_output")}
      />
      <PathField
        label="Metadata"
        placeholder="none"
        value={paths.metadata}
        onChange={(value) => setPath("metadata", value)}
        error={fieldError("map.metadata")}
      />
      <p className={classes.hint}>
        JSON paths into <code>input</code>, <code>output</code>, <code>request</code>, <code>messages</code>,{" "}
        <code>output_messages</code>, <code>tools</code>, <code>metadata</code>, <code>attributes</code>,{" "}
        <code>name</code> and <code>model</code>.
      </p>
    </>
  );
}

interface PathProps {
  label: string;
  placeholder?: string;
  value: string;
  onChange: (value: string) => void;
  error: string | undefined;
}

function PathField({ label, placeholder, value, onChange, error }: PathProps) {
  return (
    <TextInput
      label={label}
      placeholder={placeholder}
      classNames={{ input: classes.path }}
      autoComplete="off"
      spellCheck={false}
      maxLength={1000}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      error={error}
    />
  );
}
