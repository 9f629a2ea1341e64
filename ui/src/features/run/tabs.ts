import type { Span } from "@/api/types";

const TABS = ["messages", "tool", "io", "attributes", "events", "scores", "raw"] as const;
export type Tab = (typeof TABS)[number];

/** The tabs with content for a span, most useful first. */
export function availableTabs(span: Span): Tab[] {
  const hasMessages = [span.input_messages, span.output_messages, span.system_instructions].some(
    (list) => list?.length,
  );
  return TABS.filter((tab) => {
    if (tab === "messages") return hasMessages;
    if (tab === "tool") return span.tool !== null;
    if (tab === "events") return (span.events?.length ?? 0) + (span.links?.length ?? 0) > 0;
    return true;
  });
}

/** The requested tab if the span has it, else the first one. */
export function chooseTab(span: Span, wanted: string | null): Tab {
  const tabs = availableTabs(span);
  return tabs.find((tab) => tab === wanted) ?? tabs[0] ?? "io";
}
