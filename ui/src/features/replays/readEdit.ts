import type { ReplayEdit, ReplaySet } from "@/api/types";
import { type DraftModel, emptyDraft, readDraft } from "@/components/editor/draft";
import type { FormErrors } from "@/components/formErrors";
import { isObject } from "@/components/json";
import { type EditDraft, readTarget } from "./edits";
import { type Recorded, recordedParams, recordedText } from "./recorded";

/** Reads an edit. Null while something is missing or wrong, which `errors` says. */
export function readEdit(
  edit: EditDraft,
  recorded: Recorded,
  at: string,
  errors: FormErrors,
): ReplayEdit | null {
  if (edit.given) return edit.given;
  const set = readSet(edit, recorded, `${at}.set.${edit.change}`, errors);
  return set && { target: readTarget(edit.target), set };
}

function readSet(edit: EditDraft, recorded: Recorded, at: string, errors: FormErrors): ReplaySet | null {
  const wrong = (message: string, below = "") => {
    errors[at + below] = message;
    return null;
  };
  switch (edit.change) {
    case "system_prompt":
    case "input": {
      const before = recordedText(edit, recorded);
      const text = edit.text ?? before ?? "";
      if (text === "") return wrong("Enter the new text.");
      if (text === before) return wrong("This is the recorded text. Change it.");
      return { [edit.change]: text };
    }
    case "tool_result": {
      const text = edit.text ?? recordedText(edit, recorded);
      if (text === null) return wrong("Enter what the tool returns.");
      if (edit.text === null || edit.text === recordedText(edit, recorded))
        return wrong("This is the recorded result. Change it.");
      return { tool_result: text };
    }
    case "model":
      return edit.model.trim() === "" ? wrong("Enter a model.") : { model: edit.model.trim() };
    case "params": {
      const before = recordedParams(recorded);
      const params = changedParams(before, edit.params ?? before, at, errors);
      if (!params) return null;
      return Object.keys(params).length > 0 ? { params } : wrong("Choose a parameter and change it.");
    }
    case "prompt":
      return readPrompt(edit, at, errors);
    case "messages": {
      const messages = readMessages(edit, at, errors);
      return messages && { messages };
    }
    case "response": {
      const [response] = readMessages(edit, at, errors) ?? [];
      return response ? { response } : null;
    }
    case "tool_schema":
      return readSchema(edit, at, errors);
    case "tool_error":
      if (edit.errorType.trim() + edit.errorMessage.trim() === "")
        return wrong("Enter a type, a message or both.");
      return {
        tool_error: {
          ...(edit.errorType.trim() !== "" && { type: edit.errorType.trim() }),
          ...(edit.errorMessage.trim() !== "" && { message: edit.errorMessage }),
        },
      };
    case "timeout_ms":
    case "retries": {
      if (edit.number.trim() === "") return wrong("Enter a number.");
      const value = Number(edit.number);
      const [least, most] = LIMITS[edit.change];
      if (!Number.isInteger(value) || value < least || value > most)
        return wrong(`A whole number from ${least} to ${most.toLocaleString("en-US")}.`);
      return { [edit.change]: value };
    }
  }
}

/** The numbers that the API takes. */
const LIMITS = {
  timeout_ms: [1, 86_400_000],
  retries: [0, 100],
} as const;

/** Members of requests by those of a model's settings. */
const PARAMS: Record<string, string> = { max_output_tokens: "max_tokens" };

/** What differs in parameters, by the names of chat completions. Null for one that is gone. */
export function changedParams(
  before: DraftModel,
  after: DraftModel,
  at: string,
  errors: FormErrors,
): Record<string, unknown> | null {
  const read = readDraft({ ...emptyDraft(), model: after });
  if (read.errors.length > 0) {
    for (const error of read.errors) errors[`${at}.${PARAMS[error.at] ?? error.at}`] = error.message;
    return null;
  }
  const flat = (config: unknown): Record<string, unknown> => {
    const { model: _, provider_id: __, extra, ...named } = isObject(config) ? config : {};
    return { ...named, ...(isObject(extra) ? extra : {}) };
  };
  const now = flat(read.content.model_config);
  const was = flat(readDraft({ ...emptyDraft(), model: before }).content.model_config);
  const names = [...new Set([...Object.keys(was), ...Object.keys(now)])];
  return Object.fromEntries(
    names
      .filter((name) => JSON.stringify(was[name]) !== JSON.stringify(now[name]))
      .map((name) => [PARAMS[name] ?? name, now[name] ?? null]),
  );
}

function readMessages(edit: EditDraft, at: string, errors: FormErrors) {
  if (edit.messages === null) {
    errors[at] = "This is the recorded message. Change it.";
    return null;
  }
  const { content, errors: found } = readDraft({ ...emptyDraft(), format: "none", messages: edit.messages });
  if (found[0]) {
    errors[at] = found[0].message;
    return null;
  }
  return content.messages;
}

function readPrompt(edit: EditDraft, at: string, errors: FormErrors): ReplaySet | null {
  if (!edit.prompt) {
    errors[at] = "Choose a prompt.";
    return null;
  }
  const { id, version } = edit.prompt;
  const variables = edit.variables.trim() === "" ? {} : readObject(edit.variables);
  if (!variables) {
    errors[`${at}.variables`] = "This isn't a JSON object: { … }.";
    return null;
  }
  return {
    prompt: { prompt: { id, version }, ...(Object.keys(variables).length > 0 && { variables }) },
  };
}

function readSchema(edit: EditDraft, at: string, errors: FormErrors): ReplaySet | null {
  const schema = readObject(edit.schema ?? "");
  if (schema) return { tool_schema: schema };
  errors[at] = edit.schema === null ? "Choose a tool." : "This isn't a JSON object: { … }.";
  return null;
}

function readObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
