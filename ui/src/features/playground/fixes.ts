import type { ApiError } from "@/api/problem";
import type { DraftModel } from "@/components/editor/draft";
import { isObject, pretty } from "@/components/editor/draft";
import type { Play, PlayColumn } from "./play";

/** A change that makes a refused request work. */
export interface Fix {
  label: string;
  change: (play: Play) => Play;
}

const members: Record<string, keyof DraftModel> = {
  temperature: "temperature",
  top_p: "topP",
  max_output_tokens: "maxOutputTokens",
  max_tokens: "maxOutputTokens",
  max_completion_tokens: "maxOutputTokens",
  stop: "stop",
  seed: "seed",
  reasoning_effort: "reasoningEffort",
  tool_choice: "toolChoice",
};

/** What one click can do about an error of a column. */
export function fixesOf(error: ApiError, column: PlayColumn): Fix[] {
  const code = error.problem?.code;
  if (code === "parameter_refused") return parameterFixes(error, column);
  if (code === "price_unknown") {
    return [{ label: "Allow models without a price", change: (play) => ({ ...play, allowUnpriced: true }) }];
  }
  return [];
}

/** The parameter that a problem names: the end of `body.model_config.temperature`. */
export function refusedParameter(error: ApiError): string | null {
  const location = error.problem?.errors?.[0]?.location;
  return location?.split(".").at(-1) ?? null;
}

function parameterFixes(error: ApiError, column: PlayColumn): Fix[] {
  const name = refusedParameter(error);
  if (name === null) return [];
  const remove = `Remove ${name}`;
  const change = (changed: (model: DraftModel) => DraftModel) => (play: Play) => ({
    ...play,
    columns: play.columns.map((one) => (one.id === column.id ? { ...one, model: changed(one.model) } : one)),
  });
  const extra = extraOf(column.model);
  if (Object.hasOwn(extra, name)) {
    const { [name]: value, ...others } = extra;
    const other = renamed(error, name);
    const write = (members: Record<string, unknown>) =>
      change((model) => ({ ...model, extra: Object.keys(members).length === 0 ? "" : pretty(members) }));
    return [
      ...(other === null
        ? []
        : [{ label: `Rename ${name} to ${other}`, change: write({ ...others, [other]: value }) }]),
      { label: remove, change: write(others) },
    ];
  }
  const member = members[name];
  if (member !== undefined && column.model[member].length > 0) {
    return [
      { label: remove, change: change((model) => ({ ...model, [member]: member === "stop" ? [] : "" })) },
    ];
  }
  if (name === "response_format")
    return [{ label: remove, change: (play) => ({ ...play, responseFormat: "" }) }];
  if (name === "tools") return [{ label: remove, change: (play) => ({ ...play, tools: [] }) }];
  return [];
}

/** The other name that a message tells: "This model takes max_completion_tokens, not max_tokens." */
function renamed(error: ApiError, name: string): string | null {
  const text = [error.problem?.detail, error.problem?.errors?.[0]?.message].join(" ");
  const found = /takes [`'"]?([A-Za-z_]\w*)[`'"]?,? not [`'"]?([A-Za-z_]\w*)/.exec(text);
  return found?.[1] && found[2] === name ? found[1] : null;
}

function extraOf({ extra }: DraftModel): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(extra);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}
