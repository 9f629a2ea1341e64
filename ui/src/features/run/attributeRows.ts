import { asText } from "./parts";

export interface AttributeRow {
  key: string;
  text: string;
}

/** The attributes whose key or value contains the filter, sorted by key. */
export function attributeRows(attributes: Record<string, unknown>, filter: string): AttributeRow[] {
  const wanted = filter.trim().toLowerCase();
  return Object.entries(attributes)
    .map(([key, value]) => ({ key, text: value === null ? "null" : asText(value) }))
    .filter(({ key, text }) => `${key}\n${text}`.toLowerCase().includes(wanted))
    .sort((a, b) => a.key.localeCompare(b.key));
}
