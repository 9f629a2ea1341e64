import { Button, Skeleton, Stack, Tabs } from "@mantine/core";
import { IconDatabasePlus, IconFlask, IconPlayerTrackNext } from "@tabler/icons-react";
import { useEffect, useRef, useState } from "react";
import { Link } from "react-router";
import { useSpan } from "@/api/runs";
import type { Span } from "@/api/types";
import { CopyButton } from "@/components/CopyButton";
import { JsonTree } from "@/components/JsonTree";
import type { Json } from "@/components/json";
import { KindIcon } from "@/components/KindIcon";
import { QueryState } from "@/components/QueryState";
import { isReplayable, newReplayPath } from "@/components/replayStart";
import { StatusMark } from "@/components/StatusMark";
import { Attributes } from "./Attributes";
import { ErrorPanel } from "./ErrorPanel";
import { Events } from "./Events";
import { Messages } from "./Messages";
import type { SpanHead } from "./outline";
import { Payload } from "./Payload";
import type { Place } from "./place";
import { Scores } from "./Scores";
import classes from "./SpanDetail.module.css";
import { SpanFacts } from "./SpanFacts";
import { Tool } from "./Tool";
import { availableTabs, chooseTab, type Tab } from "./tabs";
import { useKeptScroll } from "./useKeptScroll";

interface Props {
  projectId: string;
  runId: string;
  spanId: string;
  /** What the tree knows about the span, shown while the rest loads. */
  head: SpanHead | undefined;
  isRunning: boolean;
  /** Missing if the user may not change datasets. */
  onAdd?: (span: Span) => void;
  mayReplay: boolean;
  tab: string | null;
  onTab: (tab: Tab) => void;
  place: Place;
}

/** The details of one span. */
export function SpanDetail(props: Props) {
  const { projectId, runId, spanId, head, isRunning, onAdd, mayReplay, tab, onTab, place } = props;
  const root = useRef<HTMLDivElement>(null);
  useKeptScroll(root, place, `span ${spanId}`);
  const isDue = useDelay();
  const query = useSpan(projectId, runId, isDue ? spanId : undefined, isRunning);
  const span = query.data;
  const shown = span ?? head;
  return (
    <div ref={root} className={classes.root} data-testid="span-detail">
      {shown && (
        <Head span={shown}>
          <div className={classes.actions}>
            {mayReplay && span && isReplayable(span.kind) && (
              <Button
                size="compact-xs"
                variant="default"
                component={Link}
                to={newReplayPath(projectId, runId, spanId)}
                leftSection={<IconPlayerTrackNext size={13} />}
              >
                Replay from here
              </Button>
            )}
            {span?.kind === "llm" && (
              <Button
                size="compact-xs"
                variant="default"
                component={Link}
                to={`/p/${projectId}/playground?run=${runId}&span=${spanId}`}
                leftSection={<IconFlask size={13} />}
              >
                Open in playground
              </Button>
            )}
            {onAdd && span && (
              <Button
                size="compact-xs"
                variant="default"
                leftSection={<IconDatabasePlus size={13} />}
                onClick={() => onAdd(span)}
              >
                Add span to dataset…
              </Button>
            )}
          </div>
        </Head>
      )}
      {span?.error && <ErrorPanel error={span.error} />}
      {span && <SpanFacts span={span} />}
      <QueryState
        query={query}
        skeleton={
          <Stack gap="sm">
            <Skeleton h={14} w="40%" />
            <Skeleton h={90} />
            <Skeleton h={60} />
          </Stack>
        }
      >
        {(span) => <Body span={span} projectId={projectId} tab={tab} onTab={onTab} />}
      </QueryState>
    </div>
  );
}

/** Holding a key down moves through many spans. Only the last one is fetched. */
const DELAY_MS = 80;

function useDelay(): boolean {
  const [isDue, setDue] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setDue(true), DELAY_MS);
    return () => clearTimeout(timer);
  }, []);
  return isDue;
}

function Head({ span, children }: { span: SpanHead; children: React.ReactNode }) {
  return (
    <div className={classes.head}>
      <span className={classes.kind}>
        <KindIcon kind={span.kind} size={18} />
      </span>
      <h2 className={classes.name} dir="auto">
        {span.name || "unnamed"}
      </h2>
      <StatusMark status={span.status} withLabel />
      <span className={classes.id}>
        <code title="Span id">{span.span_id}</code>
        <CopyButton value={span.span_id} what="span id" />
      </span>
      {children}
    </div>
  );
}

const names: Record<Tab, string> = {
  messages: "Messages",
  tool: "Tool",
  io: "Input/Output",
  attributes: "Attributes",
  events: "Events",
  scores: "Scores",
  raw: "Raw",
};

interface BodyProps {
  span: Span;
  projectId: string;
  tab: string | null;
  onTab: (tab: Tab) => void;
}

function Body({ span, projectId, tab, onTab }: BodyProps) {
  const tabs = availableTabs(span);
  const events = (span.events?.length ?? 0) + (span.links?.length ?? 0);
  return (
    <Tabs
      value={chooseTab(span, tab)}
      onChange={(value) => onTab(value as Tab)}
      keepMounted={false}
      classNames={{ tab: classes.tab, panel: classes.panel }}
    >
      <Tabs.List aria-label="Parts of the span">
        {tabs.map((item) => (
          <Tabs.Tab key={item} value={item}>
            {names[item]}
            {item === "events" && ` ${events}`}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <Tabs.Panel value="messages">
        <Messages span={span} />
      </Tabs.Panel>
      <Tabs.Panel value="tool">{span.tool && <Tool tool={span.tool} />}</Tabs.Panel>
      <Tabs.Panel value="io">
        <Payload title="Input" text={span.inputs} />
        <Payload title="Output" text={span.outputs} />
      </Tabs.Panel>
      <Tabs.Panel value="attributes">
        <Attributes span={span} />
      </Tabs.Panel>
      <Tabs.Panel value="events">
        <Events span={span} />
      </Tabs.Panel>
      <Tabs.Panel value="scores">
        <Scores projectId={projectId} runId={span.run_id} spanId={span.span_id} />
      </Tabs.Panel>
      <Tabs.Panel value="raw">
        <JsonTree value={span as unknown as Json} what="span as JSON" open={1} />
      </Tabs.Panel>
    </Tabs>
  );
}
