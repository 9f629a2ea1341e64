import { ActionIcon, Menu, SegmentedControl, TagsInput, Textarea, Tooltip } from "@mantine/core";
import { IconBraces } from "@tabler/icons-react";
import { useId, useRef, useState } from "react";
import editor from "@/components/editor/Editor.module.css";
import { ErrorText } from "@/components/editor/ErrorText";
import classes from "./Graders.module.css";
import type { Field, Shape } from "./graderFields";
import { reshaped, shapeOf } from "./graderMembers";
import type { Template } from "./graderTemplates";
import { JsonText } from "./JsonText";

const SHAPES: Record<Shape, string> = { text: "Text", texts: "Several texts", json: "JSON" };

interface Props {
  field: Extract<Field, { kind: "value" }>;
  value: unknown;
  broken?: string;
  templates: readonly Template[];
  error: string | undefined;
  onChange: (value: unknown, broken?: string) => void;
}

/** A value that may hold templates: a text, several, or JSON. Empty is the default. */
export function GraderValue({ field, value, broken, templates, error, onChange }: Props) {
  const { label, help, fallback, shapes } = field;
  const [chosen, setChosen] = useState<Shape>(broken === undefined ? shapeOf(value, shapes) : "json");
  const labelId = useId();
  const shape =
    chosen === "text" && typeof value !== "string" && value != null ? shapeOf(value, shapes) : chosen;
  return (
    <div className={classes.wideField}>
      <div className={classes.valueHead}>
        <span id={labelId} className={editor.label}>
          {label}
        </span>
        <SegmentedControl
          size="xs"
          aria-label={`${label}: how it is written`}
          value={shape}
          onChange={(next) => {
            setChosen(next as Shape);
            onChange(reshaped(value, next as Shape, fallback));
          }}
          data={shapes.map((one) => ({ value: one, label: SHAPES[one] }))}
        />
      </div>
      {help && <p className={classes.note}>{help}</p>}
      {shape === "text" && (
        <TemplateArea
          labelId={labelId}
          label={label}
          fallback={fallback}
          value={typeof value === "string" ? value : ""}
          templates={templates}
          hasError={error !== undefined}
          onChange={onChange}
        />
      )}
      {shape === "texts" && (
        <TagsInput
          size="xs"
          aria-labelledby={labelId}
          placeholder="Enter adds one"
          data={templates.map(({ text }) => text)}
          splitChars={[]}
          value={Array.isArray(value) ? value.filter((one) => typeof one === "string") : []}
          onChange={onChange}
        />
      )}
      {shape === "json" && <JsonText label={label} value={value} broken={broken} onChange={onChange} />}
      {error && <ErrorText>{error}</ErrorText>}
    </div>
  );
}

interface AreaProps {
  labelId: string;
  label: string;
  fallback: string;
  value: string;
  templates: readonly Template[];
  hasError: boolean;
  onChange: (value: unknown) => void;
}

function TemplateArea({ labelId, label, fallback, value, templates, hasError, onChange }: AreaProps) {
  const area = useRef<HTMLTextAreaElement>(null);
  const insert = (template: string) => {
    const { selectionStart: from = value.length, selectionEnd: to = value.length } = area.current ?? {};
    // One template is replaced by another; inside a text it is put where the cursor is.
    const isWhole = /^\{\{[^{}]*\}\}$/.test(value);
    onChange(isWhole ? template : value.slice(0, from) + template + value.slice(to));
  };
  return (
    <Textarea
      ref={area}
      size="xs"
      aria-labelledby={labelId}
      classNames={{ input: classes.code }}
      placeholder={fallback}
      autosize
      minRows={1}
      maxRows={8}
      spellCheck={false}
      dir="auto"
      value={value}
      error={hasError}
      onChange={(event) => onChange(event.currentTarget.value || undefined)}
      rightSectionPointerEvents="all"
      rightSection={
        <Menu position="bottom-end" width={320}>
          <Tooltip label="Insert a template">
            <Menu.Target>
              <ActionIcon
                variant="subtle"
                color="gray"
                size="sm"
                aria-label={`Insert a template into ${label}`}
              >
                <IconBraces size={14} />
              </ActionIcon>
            </Menu.Target>
          </Tooltip>
          <Menu.Dropdown className={classes.kinds}>
            {templates.map(({ text, meaning }) => (
              <Menu.Item key={text} onClick={() => insert(text)}>
                <code dir="ltr">{text}</code>
                <span className={classes.kindHint}>{meaning}</span>
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
      }
    />
  );
}
