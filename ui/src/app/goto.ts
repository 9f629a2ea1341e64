/** The run id that a text is or begins with: a UUID, or the 32 digits of a trace id; null where it is neither. */
export function runIdIn(text: string): string | null {
  const digits = text.trim().replace(/-/g, "").toLowerCase();
  if (!/^[0-9a-f]{32}$/.test(digits)) return null;
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** Whether all words of a text occur in a name, in any order and case. */
export function isMatch(name: string, text: string): boolean {
  const where = name.toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => where.includes(word));
}
