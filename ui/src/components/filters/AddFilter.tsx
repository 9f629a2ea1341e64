import {
  Button,
  CloseButton,
  Combobox,
  Loader,
  Popover,
  Text,
  TextInput,
  useCombobox,
  VisuallyHidden,
} from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconPlus } from "@tabler/icons-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { useRunFields, useRunFieldValues } from "@/api/stats";
import { formatCount, formatTime } from "@/components/format";
import { onDemand } from "@/components/onDemand";
import { REPLAYABILITY } from "@/components/replayability";
import { SIGNALS } from "@/components/signals";
import { useProjectId } from "@/components/useProject";
import classes from "./FilterBar.module.css";
import type { Field } from "./filterField";
import { type Filters, NUMBER_FIELDS, TEXT_FIELDS, toggleParam, toQuery, withParam } from "./filters";

interface Props {
  filters: Filters;
  params: URLSearchParams;
  onChange: (params: URLSearchParams) => void;
  /** Whether runs can be filtered by their scores. */
  withScores?: boolean;
}

// A failure's page leads to its runs; its fingerprint is not for typing.
const texts: Field[] = TEXT_FIELDS.filter(({ name }) => name !== "fingerprint").map(({ name, label }) => ({
  name,
  parameter: name,
  label,
}));
const numbers: Field[] = NUMBER_FIELDS.map(({ name, label, unit }) => ({
  name: null,
  parameter: name,
  label: `${label} ≥`,
  unit,
}));

const scores: Field = {
  name: null,
  parameter: "has_score",
  label: "Has scores",
  choices: [
    { value: "true", label: "yes" },
    { value: "false", label: "no" },
  ],
};

const replayability: Field = {
  name: null,
  parameter: "replayability",
  label: "Replayable",
  choices: REPLAYABILITY,
  several: true,
};

const signals: Field = {
  name: null,
  parameter: "signal",
  label: "Signal",
  choices: SIGNALS,
  several: true,
};

const Bound = onDemand(async () => (await import("./Bound")).Bound);

/** Adds any other filter: choose a field, then a value or a bound. */
export function AddFilter({ filters, params, onChange, withScores = true }: Props) {
  const [opened, setOpened] = useState(false);
  const [field, setField] = useState<Field | null>(null);
  const toggle = (next: boolean) => {
    setOpened(next);
    setField(null);
  };
  const add = (value: string) => {
    if (field)
      onChange(
        field.several
          ? toggleParam(params, field.parameter, value)
          : withParam(params, field.parameter, value),
      );
    toggle(false);
  };
  return (
    <Popover opened={opened} onChange={toggle} trapFocus width={300} shadow="md" position="bottom-start">
      <Popover.Target>
        <Button
          size="xs"
          variant="default"
          leftSection={<IconPlus size={13} aria-hidden="true" />}
          onClick={() => toggle(!opened)}
        >
          Filter
        </Button>
      </Popover.Target>
      <Popover.Dropdown p={6}>
        {field === null ? (
          <Fields filters={filters} withScores={withScores} onChoose={setField} />
        ) : field.choices ? (
          <Choices field={field} choices={field.choices} onBack={() => setField(null)} onSubmit={add} />
        ) : field.name === null ? (
          <Bound field={field} onBack={() => setField(null)} onSubmit={add} />
        ) : (
          <Values
            filters={filters}
            field={field}
            name={field.name}
            onBack={() => setField(null)}
            onSubmit={add}
          />
        )}
      </Popover.Dropdown>
    </Popover>
  );
}

interface FieldsProps {
  filters: Filters;
  withScores: boolean;
  onChoose: (field: Field) => void;
}

function Fields({ filters, withScores, onChoose }: FieldsProps) {
  const projectId = useProjectId();
  const [text, setText] = useState("");
  const filter = useMemo(() => toQuery(projectId, filters), [projectId, filters]);
  const known = useRunFields(filter, true);
  const metadata: Field[] = (known.data?.data ?? [])
    .filter(({ parameter }) => parameter.startsWith("metadata["))
    .map(({ name, parameter, count }) => ({
      name,
      parameter,
      label: name.replace(/^metadata\./, ""),
      count,
    }));
  const matches = (one: Field) => one.label.toLowerCase().includes(text.trim().toLowerCase());
  const groups = [
    {
      label: "Runs",
      fields: [...texts, ...numbers, ...(withScores ? [scores] : []), replayability, signals].filter(matches),
    },
    { label: "Metadata", fields: metadata.filter(matches) },
  ].filter(({ fields }) => fields.length > 0);
  const all = groups.flatMap(({ fields }) => fields);
  return (
    <Picker
      label="Field"
      placeholder="Filter by…"
      text={text}
      onText={setText}
      onSubmit={(parameter) => {
        const chosen = all.find((one) => one.parameter === parameter);
        if (chosen) onChoose(chosen);
      }}
      empty="No matching field"
    >
      {groups.map((group) => (
        <Combobox.Group key={group.label} label={group.label}>
          {group.fields.map((one) => (
            <Combobox.Option key={one.parameter} value={one.parameter} className={classes.option}>
              <span className={classes.optionText}>{one.label}</span>
              {one.count != null && <Count value={one.count} />}
            </Combobox.Option>
          ))}
        </Combobox.Group>
      ))}
    </Picker>
  );
}

interface ChoicesProps {
  field: Field;
  choices: NonNullable<Field["choices"]>;
  onBack: () => void;
  onSubmit: (value: string) => void;
}

function Choices({ field, choices, onBack, onSubmit }: ChoicesProps) {
  const [text, setText] = useState("");
  return (
    <Picker
      label={field.label}
      placeholder={`${field.label}…`}
      text={text}
      onText={setText}
      onSubmit={onSubmit}
      onBack={onBack}
      empty="No matching value"
    >
      {choices
        .filter(({ label }) => label.startsWith(text.trim().toLowerCase()))
        .map(({ value, label }) => (
          <Combobox.Option key={value} value={value} className={classes.option}>
            <span className={classes.optionText}>{label}</span>
          </Combobox.Option>
        ))}
    </Picker>
  );
}

interface ValuesProps {
  filters: Filters;
  field: Field;
  name: string;
  onBack: () => void;
  onSubmit: (value: string) => void;
}

function Values({ filters, field, name, onBack, onSubmit }: ValuesProps) {
  const projectId = useProjectId();
  const [text, setText] = useState("");
  const [prefix] = useDebouncedValue(text.trim(), 150);
  const filter = useMemo(() => toQuery(projectId, filters), [projectId, filters]);
  const query = useRunFieldValues(filter, name, prefix);
  const values = (query.data?.data ?? []).filter(({ value }) => value !== "");
  const typed = text.trim();
  const isOther = typed !== "" && !values.some(({ value }) => value === typed);
  return (
    <Picker
      label={`${field.label} is`}
      placeholder={`${field.label} is…`}
      text={text}
      onText={setText}
      onSubmit={onSubmit}
      onBack={onBack}
      empty={
        query.isPending
          ? "Loading values…"
          : query.isError
            ? "Couldn't load values. Type one."
            : "No values recorded. Type one."
      }
      busy={query.isFetching}
      note={query.data?.partial ? `From runs since ${formatTime(query.data.start)}` : undefined}
    >
      {values.map(({ value, count }) => (
        <Combobox.Option key={value} value={value} className={classes.option} title={value}>
          <span className={classes.optionText}>{value}</span>
          <Count value={count} />
        </Combobox.Option>
      ))}
      {isOther && (
        <Combobox.Option value={typed} className={classes.option}>
          <span className={classes.optionText}>is exactly “{typed}”</span>
        </Combobox.Option>
      )}
    </Picker>
  );
}

function Count({ value }: { value: number }) {
  return (
    <span className={classes.optionCount}>
      {formatCount(value)}
      <VisuallyHidden> runs</VisuallyHidden>
    </span>
  );
}

interface PickerProps {
  label: string;
  placeholder: string;
  text: string;
  onText: (text: string) => void;
  onSubmit: (value: string) => void;
  onBack?: () => void;
  empty: string;
  busy?: boolean;
  note?: string;
  children: React.ReactNode;
}

/** A text field that narrows a list. Arrows and Enter choose, Backspace goes back. */
function Picker({
  label,
  placeholder,
  text,
  onText,
  onSubmit,
  onBack,
  empty,
  busy,
  note,
  children,
}: PickerProps) {
  const combobox = useCombobox({ opened: true });
  const input = useFocus();
  const isEmpty = !children || (Array.isArray(children) && children.flat().filter(Boolean).length === 0);
  return (
    <Combobox store={combobox} onOptionSubmit={onSubmit} withinPortal={false}>
      <Combobox.EventsTarget>
        <TextInput
          size="xs"
          aria-label={label}
          placeholder={placeholder}
          ref={input}
          maxLength={200}
          value={text}
          rightSection={
            busy ? (
              <Loader size={12} />
            ) : onBack ? (
              <CloseButton size="xs" aria-label="Another field" onClick={onBack} />
            ) : null
          }
          onChange={(event) => {
            onText(event.currentTarget.value);
            combobox.resetSelectedOption();
          }}
          onKeyDown={(event) => {
            if (event.key === "Backspace" && text === "") onBack?.();
            // Without a selection, Enter takes the first option.
            if (event.key === "Enter" && combobox.getSelectedOptionIndex() < 0) combobox.selectFirstOption();
          }}
        />
      </Combobox.EventsTarget>
      {/* A scrolling region must be reachable by keyboard. */}
      <Combobox.Options className={classes.options} aria-label={label} tabIndex={0}>
        {isEmpty ? <Combobox.Empty>{empty}</Combobox.Empty> : children}
      </Combobox.Options>
      {note && (
        <Text size="xs" c="dimmed" px={8} pb={4}>
          {note}
        </Text>
      )}
    </Combobox>
  );
}

/** Focuses the field of each step when it appears. */
function useFocus() {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);
  return input;
}
