import { Checkbox, NumberInput, Select, TagsInput, TextInput } from "@mantine/core";
import { useState } from "react";
import { writeJson } from "@/api/json";
import { Code } from "@/components/Code";
import editor from "@/components/editor/Editor.module.css";
import { ErrorText } from "@/components/editor/ErrorText";
import { Disclosure } from "@/components/evaluation/Disclosure";
import classes from "./Graders.module.css";
import { GraderValue } from "./GraderValue";
import { type Field, type Option, plain } from "./graderFields";
import { readNumber } from "./graderMembers";
import type { Template } from "./graderTemplates";
import { JsonText } from "./JsonText";

interface Props {
  field: Field;
  value: unknown;
  /** The text of the field, if it isn't the JSON that it should be. */
  broken?: string;
  templates: readonly Template[];
  error: string | undefined;
  /** `broken` is a text that isn't JSON yet; the value stays as it is. */
  onChange: (value: unknown, broken?: string) => void;
}

/** The options of a field, and a value that only JSON can have. */
function offered(options: readonly Option[], value: unknown): Option[] {
  const isOther = typeof value === "string" && options.every((option) => option.value !== value);
  return isOther ? [...options, ...plain(value)] : [...options];
}

/** One member of a grader. */
export function GraderField({ field, value, broken, templates, error, onChange }: Props) {
  const { label, help } = field;
  const common = { size: "xs", label, description: help, error } as const;
  switch (field.kind) {
    case "flag":
      return (
        <Checkbox
          {...common}
          className={classes.flag}
          checked={value === true}
          onChange={(event) => onChange(event.currentTarget.checked || undefined)}
        />
      );
    case "select":
      return (
        <Select
          {...common}
          data={offered(field.options, value)}
          value={typeof value === "string" ? value : (field.fallback ?? null)}
          allowDeselect={false}
          comboboxProps={{ width: "max-content", position: "bottom-start" }}
          onChange={(chosen) => onChange(chosen === field.fallback ? undefined : (chosen ?? undefined))}
        />
      );
    case "number":
      return <NumberField {...common} field={field} value={value} onChange={onChange} />;
    case "names": {
      const names = Array.isArray(value) ? value.filter((name) => typeof name === "string") : [];
      return (
        <TagsInput
          {...common}
          className={classes.wideField}
          placeholder={names.length === 0 ? field.placeholder : "Enter adds one"}
          data={[...(field.known ?? [])]}
          splitChars={[]}
          value={names}
          onChange={(changed) => onChange(changed.length === 0 ? undefined : changed)}
        />
      );
    }
    case "line":
      return (
        <TextInput
          {...common}
          className={classes.wideField}
          classNames={{ input: classes.code }}
          placeholder={field.placeholder}
          maxLength={2000}
          autoComplete="off"
          spellCheck={false}
          value={typeof value === "string" ? value : ""}
          onChange={(event) => onChange(event.currentTarget.value || undefined)}
        />
      );
    case "value":
      return (
        <GraderValue
          field={field}
          value={value}
          broken={broken}
          templates={templates}
          error={error}
          onChange={onChange}
        />
      );
    case "json":
      return (
        <div className={classes.wideField}>
          <span className={editor.label}>{label}</span>
          {help && <p className={classes.note}>{help}</p>}
          <JsonText
            label={label}
            placeholder={field.placeholder}
            value={value}
            broken={broken}
            onChange={onChange}
          />
          {error && <ErrorText>{error}</ErrorText>}
        </div>
      );
    case "expression":
      return (
        <div className={classes.wideField}>
          <span className={editor.label}>{label}</span>
          {help && <p className={classes.note}>{help}</p>}
          <Code
            label={label}
            language="expression"
            minHeight={24}
            maxHeight={200}
            placeholder={field.placeholder}
            variables={field.names.map(({ name }) => name)}
            value={typeof value === "string" ? value : ""}
            onChange={(text) => onChange(text === "" ? undefined : text)}
          />
          {error && <ErrorText>{error}</ErrorText>}
          <Disclosure className={classes.details} summary="Names and functions">
            <dl className={classes.names}>
              {field.names.map(({ name, meaning }) => (
                <div key={name}>
                  <dt>{name}</dt>
                  <dd>{meaning}</dd>
                </div>
              ))}
            </dl>
            <p className={classes.note}>
              A missing member is an error: <code>has(metadata.tier)</code> checks for it. You can use the
              functions of CEL, and <code>math.least</code>, <code>math.greatest</code> and{" "}
              <code>math.abs</code>.
            </p>
          </Disclosure>
        </div>
      );
    case "graders":
      return null;
  }
}

interface NumberProps {
  size: "xs";
  label: string;
  description: string | undefined;
  error: string | undefined;
  field: Extract<Field, { kind: "number" }>;
  value: unknown;
  onChange: (value: unknown) => void;
}

function NumberField({ field, value, onChange, ...common }: NumberProps) {
  // "0." is no other number than 0, but it is on the way to one.
  const [typed, setTyped] = useState<string | number>("");
  const known = value === undefined || value === null ? undefined : readNumber(writeJson(value));
  return (
    <NumberInput
      {...common}
      placeholder={field.placeholder}
      min={field.least}
      clampBehavior="none"
      hideControls
      value={readNumber(typed) === known ? typed : (known ?? "")}
      onChange={(changed) => {
        setTyped(String(changed));
        onChange(readNumber(changed));
      }}
    />
  );
}
