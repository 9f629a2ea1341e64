import type { PromptRef } from "@/api/types";

/** A prompt that a span names, such as "triage v3". */
export function promptLabel({ id, name, version }: PromptRef): string {
  return [name ?? id, version === null ? null : versionLabel(version)].filter(Boolean).join(" ");
}

/** Numbers get a "v"; other versions are shown as they are named. */
function versionLabel(version: string): string {
  return /^\d+(\.\d+)*$/.test(version) ? `v${version}` : version;
}

/** The page of a prompt that a span names, and of its version; null if the span only has a version. */
export function promptPath(projectId: string, { id, name, version }: PromptRef): string | null {
  const query = new URLSearchParams();
  if (name !== null) query.set("name", name);
  else if (id !== null) query.set("id", id);
  else return null;
  if (version !== null) query.set("version", version);
  return `/p/${projectId}/prompts/by-name?${query}`;
}

/** A group of runs by prompt version: "triage@3" is version 3 of the prompt "triage". */
export function readPromptGroup(value: string): PromptRef {
  const at = value.lastIndexOf("@");
  const [prompt, version] = at < 0 ? [value, null] : [value.slice(0, at), value.slice(at + 1)];
  const isId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(prompt);
  return { id: isId ? prompt : null, name: isId || prompt === "" ? null : prompt, version };
}
