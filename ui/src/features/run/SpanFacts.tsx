import type { Span } from "@/api/types";
import { Fact, FactList } from "@/components/Fact";
import { formatCost, formatDuration, formatTime, formatTokens } from "@/components/format";
import { promptLabel } from "@/components/prompt";

/** Time, model, tokens and cost of a span. Unknown values of a model call show "unknown". */
export function SpanFacts({ span }: { span: Span }) {
  const isModelCall =
    span.usage !== null || span.request_model !== null || ["llm", "embedding"].includes(span.kind);
  const usage = span.usage;
  return (
    <FactList>
      <Fact
        label="Duration"
        value={span.status === "running" ? "running" : formatDuration(span.duration_ms)}
      />
      <Fact
        label="Started"
        value={new Date(span.start_time).toLocaleTimeString()}
        title={`${formatTime(span.start_time)} · ${span.start_time}`}
      />
      {isModelCall && (
        <>
          <Fact label="Time to first token" value={formatDuration(span.time_to_first_token_ms)} />
          <Fact label="Model" value={modelText(span)} title={modelText(span) ?? undefined} />
          <Fact label="Provider" value={span.provider} />
          <Fact
            label="Input tokens"
            value={formatTokens(usage?.input_tokens)}
            title="Includes cached tokens"
          />
          <Fact label="Output tokens" value={formatTokens(usage?.output_tokens)} title="Includes reasoning" />
          {part("Cache read", usage?.cache_read_input_tokens)}
          {part("Cache written", usage?.cache_write_input_tokens)}
          {part("Reasoning", usage?.reasoning_output_tokens)}
          <Fact
            label="Total tokens"
            value={formatTokens(usage?.total_tokens)}
            title={
              span.usage_counted
                ? undefined
                : "Other spans report the same tokens, so the run's total excludes these"
            }
          />
          <Fact label={costLabel(span)} value={formatCost(span.cost_usd)} />
        </>
      )}
      {span.finish_reasons.length > 0 && (
        <Fact label="Finish reason" value={span.finish_reasons.join(", ")} />
      )}
      {span.agent_name && <Fact label="Agent" value={span.agent_name} title={span.agent_name} />}
      {span.service_name && <Fact label="Service" value={span.service_name} title={span.service_name} />}
      {span.framework && <Fact label="Framework" value={span.framework} />}
      {span.dialect && <Fact label="Format" value={span.dialect} />}
      {span.prompt && <Fact label="Prompt" value={promptLabel(span.prompt)} />}
    </FactList>
  );
}

function part(label: string, value: number | null | undefined) {
  return value === null || value === undefined ? null : <Fact label={label} value={formatTokens(value)} />;
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
