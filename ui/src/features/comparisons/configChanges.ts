import type { ComparisonSide } from "@/api/types";
import type { ValueChange } from "@/components/textDiff";

/** What B has other than A: messages, tools, parameters and where variables come from, member by member. */
export function configChanges(a: ComparisonSide, b: ComparisonSide): ValueChange[] {
  const { model: _, provider_id: __, ...parametersA } = a.model_config;
  const { model: ___, provider_id: ____, ...parametersB } = b.model_config;
  return [
    ...changeOf("connection", a.provider?.name, b.provider?.name),
    ...changeOf("model", a.model, b.model),
    ...listChanges("messages", a.messages ?? [], b.messages ?? []),
    ...objectChanges("parameters", parametersA, parametersB),
    ...listChanges("tools", a.tools ?? [], b.tools ?? []),
    ...changeOf("response_format", a.response_format ?? null, b.response_format ?? null),
    ...changeOf("template_format", a.template_format ?? null, b.template_format ?? null),
    ...objectChanges("variables_map", a.variables_map, b.variables_map),
  ];
}

function changeOf(path: string, before: unknown, after: unknown): ValueChange[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  const isNone = (value: unknown) => value === null || value === undefined;
  const change = isNone(before) ? "added" : isNone(after) ? "removed" : "changed";
  return [{ path, change, before, after }];
}

/** Messages of the same role at the same place differ in their content; others differ as a whole. */
function listChanges(path: string, before: readonly unknown[], after: readonly unknown[]): ValueChange[] {
  return Array.from({ length: Math.max(before.length, after.length) }).flatMap((_, index) => {
    const [left, right] = [before[index], after[index]];
    const at = `${path}[${index}]`;
    const [textA, textB] = [contentOf(left), contentOf(right)];
    if (textA !== null && textB !== null && roleOf(left) === roleOf(right)) {
      return changeOf(`${at} ${roleOf(left)}`, textA, textB);
    }
    return changeOf(at, left, right);
  });
}

/** The text of a message that has nothing else; null for anything else. */
function contentOf(message: unknown): string | null {
  if (typeof message !== "object" || message === null) return null;
  const { role: _, content, ...others } = message as Record<string, unknown>;
  return typeof content === "string" && Object.keys(others).length === 0 ? content : null;
}

function roleOf(message: unknown): string {
  return String((message as { role?: unknown }).role ?? "");
}

function objectChanges(path: string, before: object, after: object): ValueChange[] {
  const [left, right] = [before as Record<string, unknown>, after as Record<string, unknown>];
  const names = [...new Set([...Object.keys(left), ...Object.keys(right)])].sort();
  return names.flatMap((name) => changeOf(`${path}.${name}`, left[name], right[name]));
}
