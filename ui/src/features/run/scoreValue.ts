/** What a typed score is: a number, true or false, else the name of a category; undefined for nothing. */
export function readValue(text: string): number | boolean | string | undefined {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  if (trimmed === "true" || trimmed === "false") return trimmed === "true";
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(trimmed) ? Number(trimmed) : trimmed;
}
