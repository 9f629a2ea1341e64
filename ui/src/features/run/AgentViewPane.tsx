import { Button, Group, NativeSelect, SegmentedControl, Skeleton, Text } from "@mantine/core";
import { useRef, useState } from "react";
import { fetchAgentView, useAgentView } from "@/api/runs";
import type { AgentViewFormat } from "@/api/types";
import { CopyButton } from "@/components/CopyButton";
import { copyText } from "@/components/clipboard";
import { formatBytes, formatCount } from "@/components/format";
import { QueryState } from "@/components/QueryState";
import classes from "./AgentViewPane.module.css";
import { useInitialFocus } from "./useInitialFocus";

const BUDGETS = [1000, 2000, 4000, 8000, 16000, 32000];
const DEFAULT_BUDGET = 4000;

interface Props {
  projectId: string;
  runId: string;
  /** The selected span. The view can focus on it. */
  spanId: string | undefined;
}

/** The text that an agent gets for this run within a token budget, and the calls that fetch it. */
export function AgentViewPane({ projectId, runId, spanId }: Props) {
  const [budget, setBudget] = useState(DEFAULT_BUDGET);
  const [format, setFormat] = useState<AgentViewFormat>("text");
  const [focused, setFocused] = useState(false);
  const focus = focused ? spanId : undefined;
  const view = useAgentView(projectId, runId, { budget, format, focus });
  const text = useRef<HTMLPreElement>(null);
  useInitialFocus(text, view.data !== undefined);
  const query = new URLSearchParams({ token_budget: String(budget), format });
  if (focus) query.set("focus", focus);
  const call = `curl -H "Authorization: Bearer $LOOPTRACE_API_KEY" '${window.location.origin}/v1/runs/${runId}/agent-view?${query}'`;
  const tool = JSON.stringify({
    name: "runs.read",
    arguments: { run_id: runId, token_budget: budget, ...(focus && { focus }) },
  });
  return (
    <section className={classes.root} aria-label="Agent view" data-testid="agent-view">
      <Group gap="xs">
        <NativeSelect
          size="xs"
          aria-label="Token budget"
          value={String(budget)}
          onChange={(event) => setBudget(Number(event.currentTarget.value))}
          data={BUDGETS.map((value) => ({ value: String(value), label: `${formatCount(value)} tokens` }))}
        />
        <SegmentedControl
          size="xs"
          aria-label="Format"
          value={format}
          onChange={(value) => setFormat(value as AgentViewFormat)}
          data={[
            { value: "text", label: "Markdown" },
            { value: "json", label: "JSON" },
          ]}
        />
        {spanId && (
          <Button
            size="xs"
            variant={focused ? "light" : "default"}
            aria-pressed={focused}
            onClick={() => setFocused(!focused)}
          >
            Focus on the selected span
          </Button>
        )}
        <Group gap="xs" ml="auto">
          {view.data !== undefined && <CopyButton value={view.data} what="view" labelled />}
          <CopyButton value={call} what="REST call" labelled />
          <CopyButton value={tool} what="MCP call" labelled />
        </Group>
      </Group>
      <Text size="xs" c="dimmed" role="status">
        {view.data === undefined
          ? "What an agent reads about this run, most important first."
          : `${formatBytes(new Blob([view.data]).size)}, at most ${formatCount(budget)} tokens. It lists what was left out and how to read it.`}
      </Text>
      <QueryState query={view} skeleton={<Skeleton h={240} />}>
        {(content) => (
          <pre
            ref={text}
            className={classes.text}
            // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
            tabIndex={0}
            data-stale={view.isPlaceholderData || undefined}
          >
            {content}
          </pre>
        )}
      </QueryState>
    </section>
  );
}

/** Copies a run's agent view without opening it. */
export function CopyAgentView({ projectId, runId }: { projectId: string; runId: string }) {
  const [state, setState] = useState<"idle" | "busy" | "copied" | "failed">("idle");
  const copy = async () => {
    setState("busy");
    try {
      const text = await fetchAgentView(projectId, runId, { budget: DEFAULT_BUDGET, format: "text" });
      setState((await copyText(text)) ? "copied" : "failed");
    } catch {
      setState("failed");
    }
    setTimeout(() => setState("idle"), 2_500);
  };
  const labels = { idle: "Copy as agent view", busy: "Copying…", copied: "Copied", failed: "Couldn't copy" };
  return (
    <Button size="compact-sm" variant="default" onClick={copy} aria-live="polite">
      {labels[state]}
    </Button>
  );
}
