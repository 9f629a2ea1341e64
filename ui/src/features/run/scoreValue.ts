/** Parses a typed score: a number, true or false, or a category. Undefined if empty. */
export function readValue(text: string): number | boolean | string | undefined {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  if (trimmed === "true" || trimmed === "false") return trimmed === "true";
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(trimmed) ? Number(trimmed) : trimmed;
}
