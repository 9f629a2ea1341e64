import type { ApiError } from "@/api/problem";
import type { Draft, DraftModel } from "@/components/editor/draft";
import { pretty } from "@/components/editor/draft";
import { isObject } from "@/components/json";
import { emptyParameter, type ParameterName, type Play, type PlayColumn, parameters } from "./play";

/** A change that makes a refused request work. */
export interface Fix {
  label: string;
  /** What is different afterwards. */
  done: string;
  change: (play: Play) => Play;
}

const aliases: Record<string, ParameterName> = {
  max_tokens: "max_output_tokens",
  max_completion_tokens: "max_output_tokens",
};

/** What one click can do about an error of a column. `source` is what the column sends. */
export function fixesOf(error: ApiError, play: Play, column: PlayColumn, source: Draft | undefined): Fix[] {
  const code = error.problem?.code;
  if (code === "parameter_refused" && source) return parameterFixes(error, play, column, source);
  // Without a limit here, it is the connection's budget that needs a price.
  if (code === "price_unknown" && play.maxCost !== "" && !play.allowUnpriced) {
    return [
      {
        label: "Allow models without a price",
        done: "Models without a price may be called now. Their cost doesn't count against the limit.",
        change: (before) => ({ ...before, allowUnpriced: true }),
      },
    ];
  }
  return [];
}

/** The parameter that a problem names: the end of `body.model_config.temperature`. */
function refusedParameter(error: ApiError): string | null {
  const location = error.problem?.errors?.[0]?.location;
  return location?.split(".").at(-1) ?? null;
}

function parameterFixes(error: ApiError, play: Play, column: PlayColumn, source: Draft): Fix[] {
  const name = refusedParameter(error);
  if (name === null) return [];
  const label = `Remove ${name}`;
  const everywhere = play.columns.length > 1 ? `${label} from all columns` : label;
  const change = (changed: (column: PlayColumn) => PlayColumn) => (before: Play) => ({
    ...before,
    columns: before.columns.map((one) => (one.id === column.id ? changed(one) : one)),
  });
  const done = `This column no longer sends ${name}. Retry sends the request without it.`;
  // Without a parameter of its own, the column sends that of its prompt.
  const without = (parameter: ParameterName) => (before: PlayColumn) => ({
    ...before,
    model: { ...before.model, ...emptyParameter(parameter) },
    without: [...new Set([...before.without, parameter])],
  });

  const extra = extraOf(source.model);
  if (Object.hasOwn(extra, name)) {
    const { [name]: value, ...others } = extra;
    const write = (members: Record<string, unknown>) =>
      change((before) =>
        Object.keys(members).length === 0
          ? without("extra")(before)
          : { ...before, model: { ...before.model, extra: pretty(members) } },
      );
    const other = renamed(error, name);
    const remove: Fix = { label, done, change: write(others) };
    if (other === null) return [remove];
    return [
      {
        label: `Rename ${name} to ${other}`,
        done: `This column sends ${other} instead of ${name}.`,
        change: write({ ...others, [other]: value }),
      },
      remove,
    ];
  }
  const parameter = Object.hasOwn(parameters, name) ? (name as ParameterName) : aliases[name];
  if (parameter !== undefined && source.model[parameters[parameter]].length > 0) {
    return [{ label, done, change: change(without(parameter)) }];
  }
  if (name === "response_format" && source.responseFormat !== "") {
    return [
      {
        label: everywhere,
        done: "No column sends a response format any more.",
        change: (before) => ({ ...before, responseFormat: "" }),
      },
    ];
  }
  if (name === "tools" && source.tools.length > 0) {
    return [
      {
        label: everywhere,
        done: "No column sends tools any more.",
        change: (before) => ({ ...before, tools: [] }),
      },
    ];
  }
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
