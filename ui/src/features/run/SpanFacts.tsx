import type { Span } from "@/api/types";
import { Fact, FactList } from "@/components/Fact";
import { formatDuration, formatMoment, formatTime } from "@/components/format";
import { promptLabel } from "@/components/prompt";
import { modelFacts } from "./modelFacts";

/** Time, model, tokens and cost of a span. */
export function SpanFacts({ span }: { span: Span }) {
  const model = modelFacts(span);
  return (
    <FactList>
      <Fact
        label="Duration"
        value={span.status === "running" ? "running" : formatDuration(span.duration_ms)}
      />
      <Fact
        label="Started"
        value={formatMoment(span.start_time, Date.now())}
        title={`${formatTime(span.start_time)} · ${span.start_time}`}
      />
      {model.map((fact) => (
        <Fact key={fact.label} {...fact} />
      ))}
      {span.finish_reasons.length > 0 && (
        <Fact label="Finish reason" value={span.finish_reasons.join(", ")} />
      )}
      {span.agent_name && <Fact label="Agent" value={span.agent_name} />}
      {span.service_name && <Fact label="Service" value={span.service_name} />}
      {span.framework && <Fact label="Framework" value={span.framework} />}
      {span.dialect && <Fact label="Format" value={span.dialect} />}
      {span.prompt && <Fact label="Prompt" value={promptLabel(span.prompt)} />}
    </FactList>
  );
}
