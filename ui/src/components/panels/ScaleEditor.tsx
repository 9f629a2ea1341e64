import { Checkbox, MultiSelect, Select, TagsInput, TextInput } from "@mantine/core";
import type { FormErrors } from "@/components/formErrors";
import classes from "./Panels.module.css";
import { SCALES, type ScaleDraft } from "./panelDraft";

/** Descriptions below the fields, so that fields beside each other are level. */
export const BELOW: ("label" | "input" | "description" | "error")[] = [
  "label",
  "input",
  "description",
  "error",
];

interface Props {
  of: string;
  scale: ScaleDraft;
  errors: FormErrors;
  /** The location of the panel. */
  at: string;
  onChange: (scale: ScaleDraft) => void;
}

/** The answers that judges may give, and which of them pass. */
export function ScaleEditor({ of, scale, errors, at, onChange }: Props) {
  const set = (changed: Partial<ScaleDraft>) => onChange({ ...scale, ...changed });
  const isLabelled = scale.type === "categorical" || (scale.type === "ordinal" && scale.isLabelled);
  const isNumbered = scale.type !== "binary" && !isLabelled;
  return (
    <div className={classes.fields}>
      <Select
        size="xs"
        label="Scale"
        aria-label={`Scale of ${of}`}
        inputWrapperOrder={BELOW}
        description={SCALES[scale.type].description}
        data={Object.entries(SCALES).map(([value, { label }]) => ({ value, label }))}
        value={scale.type}
        onChange={(type) =>
          type && set({ type: type as ScaleDraft["type"], isLabelled: false, passFrom: "" })
        }
        allowDeselect={false}
        error={errors[`${at}.scale`]}
      />
      {isNumbered && (
        <>
          <TextInput
            size="xs"
            label="Worst"
            aria-label={`Worst value of ${of}`}
            inputWrapperOrder={BELOW}
            description={scale.type === "ordinal" ? "A whole number" : "A number"}
            inputMode="decimal"
            value={scale.min}
            onChange={(event) => set({ min: event.currentTarget.value })}
            error={errors[`${at}.scale.min`]}
          />
          <TextInput
            size="xs"
            label="Best"
            aria-label={`Best value of ${of}`}
            inputWrapperOrder={BELOW}
            description={scale.type === "ordinal" ? "A whole number" : "A number"}
            inputMode="decimal"
            value={scale.max}
            onChange={(event) => set({ max: event.currentTarget.value })}
            error={errors[`${at}.scale.max`]}
          />
          <TextInput
            size="xs"
            label="Passes from"
            aria-label={`Lowest value of ${of} that passes`}
            inputWrapperOrder={BELOW}
            description="Empty: nothing passes or fails"
            inputMode="decimal"
            value={scale.passFrom}
            onChange={(event) => set({ passFrom: event.currentTarget.value })}
            error={errors[`${at}.pass`]}
          />
        </>
      )}
      {isLabelled && (
        <>
          <TagsInput
            size="xs"
            className={classes.wide}
            label="Labels"
            aria-label={`Labels of ${of}`}
            inputWrapperOrder={BELOW}
            description={
              scale.type === "ordinal" ? "From the worst to the best; Enter adds one" : "Enter adds one"
            }
            maxTags={50}
            splitChars={[]}
            value={scale.labels}
            onChange={(labels) => set({ labels })}
            error={errors[`${at}.scale.labels`]}
          />
          {scale.type === "ordinal" ? (
            <Select
              size="xs"
              label="Passes from"
              aria-label={`Lowest label of ${of} that passes`}
              inputWrapperOrder={BELOW}
              description="Empty: nothing passes or fails"
              data={[...new Set(scale.labels)]}
              value={scale.labels.includes(scale.passFrom) ? scale.passFrom : null}
              onChange={(passFrom) => set({ passFrom: passFrom ?? "" })}
              clearable
              clearButtonProps={{ "aria-label": "Clear what passes" }}
              error={errors[`${at}.pass`]}
            />
          ) : (
            <MultiSelect
              size="xs"
              label="Labels that pass"
              aria-label={`Labels of ${of} that pass`}
              inputWrapperOrder={BELOW}
              description="Empty: nothing passes or fails"
              data={[...new Set(scale.labels)]}
              value={scale.passLabels.filter((label) => scale.labels.includes(label))}
              onChange={(passLabels) => set({ passLabels })}
              error={errors[`${at}.pass`]}
            />
          )}
        </>
      )}
      {scale.type === "ordinal" && (
        <Checkbox
          size="xs"
          className={classes.whole}
          label="Words instead of numbers"
          checked={scale.isLabelled}
          onChange={(event) => set({ isLabelled: event.currentTarget.checked, passFrom: "" })}
        />
      )}
    </div>
  );
}
