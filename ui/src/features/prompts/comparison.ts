/** The versions in an address such as `3...5`; one or none if the reader has not chosen two. */
export function readComparison(text: string | null): number[] {
  if (text === null) return [];
  const versions = text.split("...").map(Number);
  const areValid =
    versions.length <= 2 && versions.every((version) => Number.isInteger(version) && version > 0);
  return areValid && versions[0] !== versions[1] ? versions : [];
}

/** The version in an address; null if there is none. */
export function readVersion(text: string | null): number | null {
  return text !== null && /^[1-9]\d{0,9}$/.test(text) ? Number(text) : null;
}
