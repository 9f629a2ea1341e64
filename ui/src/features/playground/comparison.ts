import type { ComparisonConfig } from "@/api/types";
import type { ComparisonStart } from "@/components/comparisonStart";
import { type Draft, emptyModel, readDraft } from "@/components/editor/draft";
import type { Play, PlayColumn } from "./play";

/** The first two columns as configurations to compare. Null if there are fewer. `sources` are what the columns send. */
export function comparisonOf(play: Play, sources: readonly (Draft | undefined)[]): ComparisonStart | null {
  const [a, b] = play.columns;
  if (!a || !b) return null;
  return { a: configOf(play, a, sources[0]), b: configOf(play, b, sources[1]) };
}

function configOf(play: Play, column: PlayColumn, source: Draft | undefined): ComparisonConfig {
  const choice = column.prompt ?? play.prompt;
  // A prompt has its own parameters already; messages have those of the column alone.
  const model = readDraft({ ...emptySource, model: { ...column.model, providerId: "" } }).content
    .model_config;
  const content = source ? readDraft({ ...source, model: emptyModel }).content : undefined;
  const own = {
    ...((choice === null || play.tools !== null) && { tools: content?.tools ?? [] }),
    ...((choice === null || play.responseFormat !== null) &&
      content?.response_format && { response_format: content.response_format }),
  };
  return {
    provider_id: column.providerId,
    model_config: model,
    ...own,
    ...(choice ? { prompt: choice } : { messages: content?.messages ?? [], template_format: play.format }),
  };
}

const emptySource: Draft = {
  messages: [],
  tools: [],
  responseFormat: "",
  model: emptyModel,
  variables: [],
  format: "mustache",
  missing: "error",
  note: "",
};
