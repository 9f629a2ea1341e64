/** The run id in a text: a UUID, or a trace id of 32 digits. Null if it is neither. */
export function runIdIn(text: string): string | null {
  const digits = text.trim().replace(/-/g, "").toLowerCase();
  if (!/^[0-9a-f]{32}$/.test(digits)) return null;
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** Whether a name contains all words of a text, in any order and case. */
export function isMatch(name: string, text: string): boolean {
  const where = name.toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => where.includes(word));
}
