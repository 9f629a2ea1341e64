/**
 * Encodes a query for the API: lists as repeated parameters, objects as `name[key]`. Metadata keys are arbitrary text, so names
 * are encoded too.
 */
export function queryText(query: object): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null) continue;
    if (Array.isArray(value)) for (const item of value) params.append(name, String(item));
    else if (typeof value === "object")
      for (const [key, item] of Object.entries(value)) params.append(`${name}[${key}]`, String(item));
    else params.append(name, String(value));
  }
  return params.toString();
}
