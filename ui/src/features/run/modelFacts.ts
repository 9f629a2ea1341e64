import type { Span } from "@/api/types";
import { formatCost, formatDuration, formatTokens, NONE, UNKNOWN } from "@/components/format";

/** A value of a model call with its label. */
export interface ModelFact {
  label: string;
  value: string;
  title?: string;
}

/** Kinds that call a model. */
const MODEL_CALLS = new Set(["llm", "embedding", "reranker"]);

/**
 * Model, tokens and cost of a span. What a model call should have recorded is "unknown" without it, and a dash stands for what
 * its kind doesn't have. A span that calls no model has only what it recorded.
 */
export function modelFacts(span: Span): ModelFact[] {
  const isCall = MODEL_CALLS.has(span.kind);
  const writes = span.kind === "llm";
  const facts: ModelFact[] = [];
  const add = (label: string, known: string | null, missing: string | null, title?: string) => {
    const value = known ?? missing;
    if (value !== null) facts.push({ label, value, ...(title !== undefined && { title }) });
  };
  const tokens = (count: number | null | undefined) =>
    count === null || count === undefined ? null : formatTokens(count);
  const expected = isCall ? UNKNOWN : null;
  const { usage } = span;
  const first = span.time_to_first_token_ms;
  // Only a call that streams its answer has it.
  add("Time to first token", first === null ? null : formatDuration(first), writes ? NONE : null);
  add("Model", modelText(span), expected);
  add("Provider", span.provider, expected);
  add("Input tokens", tokens(usage?.input_tokens), expected, "Includes cached tokens");
  add(
    "Output tokens",
    tokens(usage?.output_tokens),
    writes ? UNKNOWN : isCall ? NONE : null,
    "Includes reasoning",
  );
  add("Cache read", tokens(usage?.cache_read_input_tokens), null);
  add("Cache written", tokens(usage?.cache_write_input_tokens), null);
  add("Reasoning", tokens(usage?.reasoning_output_tokens), null);
  add(
    "Not itemised",
    tokens(usage?.other_tokens),
    null,
    "In the total that was sent, but neither input nor output",
  );
  add(
    "Total tokens",
    tokens(usage?.total_tokens),
    expected,
    span.usage_counted || !usage
      ? undefined
      : "Other spans report the same tokens, so the run's total excludes these",
  );
  add(costLabel(span), span.cost_usd === null ? null : formatCost(span.cost_usd), expected);
  return facts;
}

function modelText(span: Span): string | null {
  const { request_model: asked, response_model: answered } = span;
  return asked && answered && asked !== answered ? `${asked} → ${answered}` : (answered ?? asked);
}

function costLabel(span: Span): string {
  if (span.cost_source === "sent") return "Cost, as sent";
  if (span.cost_source !== "computed") return "Cost";
  if (span.price_version?.startsWith("project:")) return "Cost, project price";
  return span.price_version ? `Cost, prices of ${span.price_version}` : "Cost, calculated";
}
