import type { ProjectLimits } from "@/api/types";
import { numberMistake } from "@/components/formErrors";

export const subjects = ["project", "key"] as const;
export const measures = ["requests", "spans", "bytes"] as const;
export const parts = ["rate", "burst"] as const;

type Subject = (typeof subjects)[number];
type Measure = (typeof measures)[number];
type Part = (typeof parts)[number];

/** The path of a value in the limits, and the name of its form field: `project.spans.rate`. */
export type Field = `${Subject}.${Measure}.${Part}`;

/** The form's fields, as typed. Empty fields are missing. */
export type Fields = Partial<Record<Field, string>>;

/** The form's fields for the limits. */
export function fieldsOf(limits: ProjectLimits): Fields {
  const fields: Fields = {};
  for (const subject of subjects) {
    for (const measure of measures) {
      for (const part of parts) {
        const value = limits[subject]?.[measure]?.[part];
        if (value !== undefined) fields[`${subject}.${measure}.${part}`] = String(value);
      }
    }
  }
  return fields;
}

/** What is wrong with a field, if anything. The server checks what several fields mean together. */
export function mistakeIn(field: Field, value: string | undefined): string | undefined {
  return numberMistake(value ?? "", field.endsWith(".burst"));
}

/** The limits that the fields describe. The server rejects a burst without a rate. */
export function limitsOf(fields: Fields): ProjectLimits {
  const limits: Record<string, Record<string, Record<string, number>>> = {};
  for (const [field, value] of Object.entries(fields)) {
    const [subject = "", measure = "", part = ""] = field.split(".");
    limits[subject] ??= {};
    limits[subject][measure] ??= {};
    limits[subject][measure][part] = Number(value);
  }
  return limits as ProjectLimits;
}

/** Whether two forms have the same values. */
export function sameFields(a: Fields, b: Fields): boolean {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]) as Set<Field>;
  return [...names].every(
    (name) => a[name] === b[name] || (name in a && name in b && Number(a[name]) === Number(b[name])),
  );
}
