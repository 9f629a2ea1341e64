/** What is wrong with the name of a new prompt; null if nothing is. */
export function nameError(name: string): string | null {
  if (name === "") return null;
  if (name.length > 128) return "At most 128 characters.";
  if (/[^A-Za-z0-9._/-]/.test(name)) return "Only letters, digits, and . _ - / are allowed.";
  if (!/^[A-Za-z0-9]/.test(name)) return "The first character must be a letter or digit.";
  if (name.split("/").includes("")) return "Each / needs a name before and after it.";
  return null;
}

/** What is wrong with the name of an alias; null if nothing is. */
export function aliasError(alias: string): string | null {
  if (alias === "latest") return "latest is always the newest version. Choose another name.";
  if (alias === "" || /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(alias)) return null;
  return "Up to 64 letters, digits, and . _ - that start with a letter or digit.";
}

/** The folder of a name such as `support/email/triage`; empty at the top. */
export function folderOf(name: string): string {
  return name.split("/").slice(0, -1).join("/");
}

/** The name within its folder. */
export function lastPart(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1);
}

/** The folders above and including one, outermost first. */
export function pathOf(folder: string): { name: string; folder: string }[] {
  if (folder === "") return [];
  const parts = folder.split("/");
  return parts.map((name, index) => ({ name, folder: parts.slice(0, index + 1).join("/") }));
}
