import type { ProjectLimits } from "@/api/types";

export const subjects = ["project", "key"] as const;
export const measures = ["requests", "spans", "bytes"] as const;
export const parts = ["rate", "burst"] as const;

export type Subject = (typeof subjects)[number];
export type Measure = (typeof measures)[number];
export type Part = (typeof parts)[number];

/** The path of a value in the limits, which is also its field in the form: `project.spans.rate`. */
export type Field = `${Subject}.${Measure}.${Part}`;

/** What stands in the fields, as typed; one that is empty is not among them. */
export type Fields = Partial<Record<Field, string>>;

/** The fields of a form that shows the limits. */
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

/** The limits that the fields say. A burst without a rate goes as it is: the server says what is missing. */
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

/** Whether two forms say the same. */
export function sameFields(a: Fields, b: Fields): boolean {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]) as Set<Field>;
  return [...names].every(
    (name) => a[name] === b[name] || (name in a && name in b && Number(a[name]) === Number(b[name])),
  );
}
