import type { PromptChange, PromptVersionCreate } from "@/api/types";
import { pretty } from "@/components/editor/draft";
import { isObject } from "@/components/json";

/** What a second content changes in a first one, by member. */
export function changesBetween(before: PromptVersionCreate, after: PromptVersionCreate): PromptChange[] {
  const changes: PromptChange[] = [];
  const compare = (path: string, a: unknown, b: unknown) => {
    if (pretty(a ?? null) === pretty(b ?? null)) return;
    const change = a === undefined ? "added" : b === undefined ? "removed" : "changed";
    changes.push({ path, change, before: a ?? null, after: b ?? null });
  };
  const members = (path: string, a: object, b: object) => {
    const [left, right] = [new Map(Object.entries(a)), new Map(Object.entries(b))];
    for (const name of new Set([...left.keys(), ...right.keys()])) {
      compare(`${path}${name}`, left.get(name), right.get(name));
    }
  };
  for (let index = 0; index < Math.max(before.messages.length, after.messages.length); index++) {
    const [a, b] = [before.messages[index], after.messages[index]];
    if (a && b) members(`messages[${index}].`, a, b);
    else compare(`messages[${index}]`, a, b);
  }
  const tools = (content: PromptVersionCreate) =>
    new Map((content.tools ?? []).map((tool, index) => [toolName(tool) ?? String(index), tool]));
  const [oldTools, newTools] = [tools(before), tools(after)];
  for (const name of new Set([...oldTools.keys(), ...newTools.keys()])) {
    compare(`tools[${name}]`, oldTools.get(name), newTools.get(name));
  }
  compare("response_format", before.response_format ?? undefined, after.response_format ?? undefined);
  members("model_config.", before.model_config ?? {}, after.model_config ?? {});
  members("variables.", before.variables ?? {}, after.variables ?? {});
  compare("template_format", before.template_format, after.template_format);
  compare("missing", before.missing, after.missing);
  return changes;
}

function toolName(tool: Record<string, unknown>): string | undefined {
  return isObject(tool.function) && typeof tool.function.name === "string" ? tool.function.name : undefined;
}
