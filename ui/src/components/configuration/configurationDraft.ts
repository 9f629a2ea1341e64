import type { ComparisonConfig, ComparisonSide, PromptVersion } from "@/api/types";
import {
  type Draft,
  type DraftError,
  draftOf,
  emptyDraft,
  emptyModel,
  readDraft,
} from "@/components/editor/draft";
import type { FormErrors } from "@/components/formErrors";
import type { PromptChoice } from "@/components/PromptPicker";
import { placeholdersOf, variablesOf } from "@/components/renderVersion";

/** One configuration while it is edited. */
export interface ConfigurationDraft {
  name: string;
  /** Null for messages of its own. */
  prompt: PromptChoice | null;
  /** Messages, tools and response format count without a prompt. The parameters win over those of the prompt. */
  content: Draft;
  /** What replaces the tools and the response format of the prompt. */
  replaced: Pick<ComparisonConfig, "tools" | "response_format">;
  /** Paths by the names of variables and placeholders; empty for the member of the input. */
  paths: Record<string, string>;
}

/** A configuration with what follows from it. */
export interface ReadyConfiguration {
  draft: ConfigurationDraft;
  version: PromptVersion | undefined;
  providerId: string;
}

/** A configuration with its prompt, if that is among the versions, and its connection. */
export function readyConfiguration(
  draft: ConfigurationDraft,
  versions: readonly PromptVersion[],
  providers: readonly { id: string }[],
): ReadyConfiguration {
  const version = versions.find(
    (one) => one.prompt_id === draft.prompt?.id && one.version === draft.prompt.version,
  );
  return { draft, version, providerId: providerOf(draft, version, providers) };
}

/** The model of a configuration: the chosen one, or that of its prompt. Empty if there is none. */
export function modelOf({ draft, version }: ReadyConfiguration): string {
  return draft.content.model.model.trim() || (draft.prompt && version?.model_config.model) || "";
}

export function emptyConfiguration(): ConfigurationDraft {
  return { name: "", prompt: null, content: emptyDraft(), replaced: {}, paths: {} };
}

/** A configuration to edit. */
export function configurationDraft(config: ComparisonConfig): ConfigurationDraft {
  const content = draftOf({
    messages: config.messages ?? [],
    tools: config.prompt ? [] : (config.tools ?? []),
    response_format: config.prompt ? null : (config.response_format ?? null),
    model_config: { ...config.model_config, provider_id: config.provider_id },
    template_format: config.template_format ?? "mustache",
    variables: {},
    missing: "error",
  } as unknown as PromptVersion);
  const { id, name, version } = config.prompt ?? {};
  const isPrompt = id !== undefined && version !== undefined;
  return {
    name: config.name ?? "",
    prompt: isPrompt ? { id, name: name ?? "", version } : null,
    content: content.messages.length > 0 ? content : { ...content, messages: emptyDraft().messages },
    replaced: isPrompt
      ? {
          ...(config.tools && { tools: config.tools }),
          ...(config.response_format && { response_format: config.response_format }),
        }
      : {},
    paths: { ...config.variables_map },
  };
}

/** A configuration as it was requested, of one that ran. */
export function configOf(side: ComparisonSide): ComparisonConfig {
  const { prompt, provider, model_config, variables_map, messages, tools, response_format, template_format } =
    side;
  const rest = {
    ...(provider && { provider_id: provider.id }),
    model_config,
    variables_map,
    ...(tools && tools.length > 0 && { tools }),
    ...(response_format && { response_format }),
  };
  return prompt ? { ...rest, prompt } : { ...rest, messages, template_format };
}

/** The content of a configuration: that of its prompt with its own parameters, or its own. Undefined until the prompt is loaded. */
export function contentOf(draft: ConfigurationDraft, version: PromptVersion | undefined): Draft | undefined {
  if (draft.prompt === null) return draft.content;
  return version && { ...draftOf(version), model: draftOf(version).model };
}

/** The variables and placeholders that need values of an item. */
export function namesOf(content: Draft): string[] {
  const read = readDraft(content).content;
  const variables = variablesOf({ messages: read.messages, template_format: content.format });
  return [...new Set([...variables, ...placeholdersOf(read)])];
}

/** The connection of a configuration: the chosen one, that of its prompt, or the only one. */
function providerOf(
  draft: ConfigurationDraft,
  version: PromptVersion | undefined,
  providers: readonly { id: string }[],
): string {
  const known = (id: string | undefined) => (providers.some((one) => one.id === id) ? id : undefined);
  const only = providers.length === 1 ? providers[0]?.id : undefined;
  const ofPrompt = draft.prompt ? version?.model_config.provider_id : undefined;
  return known(draft.content.model.providerId) ?? known(ofPrompt ?? undefined) ?? only ?? "";
}

/** The configuration of a request, at a location in it. What is missing is added to `errors`. */
export function configFrom(
  at: string,
  { draft, version, providerId }: ReadyConfiguration,
  errors: FormErrors,
): ComparisonConfig {
  const { name, prompt, content, replaced, paths } = draft;
  if (providerId === "") errors[`${at}.provider_id`] = "Choose a connection.";
  if (prompt && !version) errors[`${at}.prompt`] = "The prompt isn't loaded.";
  const read = readDraft(prompt ? { ...emptyDraft(), model: content.model } : content);
  const mine = prompt ? read.errors.filter(isOfModel) : read.errors;
  for (const error of mine) errors[locationOf(at, error)] = error.message;
  const { provider_id: _, ...model } = read.content.model_config ?? {};
  if (!model.model && !(prompt && version?.model_config.model))
    errors[`${at}.model_config.model`] = "Choose a model.";
  const used = prompt ? (version ? namesOf(draftOf(version)) : []) : namesOf(content);
  const map = Object.fromEntries(
    Object.entries(paths).filter(([variable, path]) => used.includes(variable) && path.trim() !== ""),
  );
  return {
    ...(name.trim() !== "" && { name: name.trim() }),
    ...(prompt
      ? { prompt: { id: prompt.id, version: prompt.version }, ...replaced }
      : {
          messages: read.content.messages,
          template_format: content.format,
          ...(content.tools.length > 0 && { tools: read.content.tools }),
          ...(read.content.response_format && { response_format: read.content.response_format }),
        }),
    provider_id: providerId,
    model_config: model,
    variables_map: map,
  };
}

const MODEL_FIELDS = ["temperature", "top_p", "max_output_tokens", "seed", "extra"];

function isOfModel({ at }: DraftError): boolean {
  return MODEL_FIELDS.includes(at);
}

function locationOf(at: string, error: DraftError): string {
  if (isOfModel(error)) return `${at}.model_config.${error.at}`;
  return error.at === "response_format" ? `${at}.response_format` : `${at}.messages`;
}

/** A configuration with another version of a prompt: without its own parameters, which were for other messages. */
export function withPrompt(draft: ConfigurationDraft, prompt: PromptChoice | null): ConfigurationDraft {
  return { ...draft, prompt, replaced: {} };
}

/** A configuration with the messages and parameters of a prompt's version, to edit them. */
export function withOwnMessages(draft: ConfigurationDraft, version: PromptVersion): ConfigurationDraft {
  const ofPrompt = draftOf(version);
  const set = Object.entries(draft.content.model).filter(([, value]) => value.length > 0);
  return {
    ...draft,
    prompt: null,
    replaced: {},
    content: { ...ofPrompt, model: { ...emptyModel, ...ofPrompt.model, ...Object.fromEntries(set) } },
  };
}
