import { Button, Loader, Text } from "@mantine/core";
import { IconTool } from "@tabler/icons-react";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef, useState } from "react";
import { useWholeSpans } from "@/api/runs";
import { formatBytes, formatCost, formatCount, formatDuration, formatTokens } from "@/components/format";
import { KindIcon } from "@/components/KindIcon";
import { ProblemPanel } from "@/components/ProblemPanel";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { Parts } from "./Messages";
import type { Place } from "./place";
import classes from "./TranscriptView.module.css";
import { type Turn, type TurnUsage, transcriber } from "./transcript";
import { useInitialFocus } from "./useInitialFocus";
import { useKeptScroll } from "./useKeptScroll";

interface Props {
  projectId: string;
  runId: string;
  /** When the run started, in milliseconds since the epoch. */
  startedAt: number;
  isRunning: boolean;
  onOpen: (spanId: string) => void;
  place: Place;
}

/** The run as a conversation, in time order. Loads more while scrolling. */
export function TranscriptView({ projectId, runId, startedAt, isRunning, onOpen, place }: Props) {
  const spans = useWholeSpans(projectId, runId);
  const [transcript] = useState(transcriber);
  const turns = useMemo(
    () => transcript(spans.data?.pages.map((page) => page.data) ?? [], startedAt),
    [transcript, spans.data, startedAt],
  );
  const loaded = spans.data?.pages.reduce((sum, page) => sum + page.data.length, 0) ?? 0;
  const total = spans.data?.pages.at(-1)?.span_count ?? 0;

  const scroller = useRef<HTMLElement>(null);
  useInitialFocus(scroller, spans.data !== undefined);
  useKeptScroll(scroller, place, "transcript", spans.data !== undefined);
  const virtual = useVirtualizer({
    count: turns.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 90,
    overscan: 6,
    getItemKey: (index) => turns[index]?.key ?? index,
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? -1;
  const { fetchNextPage, hasNextPage, isFetching, isFetchNextPageError } = spans;
  const wantsMore = hasNextPage && !isFetching && !isFetchNextPageError && last >= turns.length - 10;
  useEffect(() => {
    if (wantsMore) void fetchNextPage();
  }, [wantsMore, fetchNextPage]);

  return (
    <QueryState query={spans} skeleton={<SkeletonRows count={3} height={70} />}>
      {() => (
        <section
          ref={scroller}
          className={classes.root}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
          tabIndex={0}
          aria-label="Transcript"
          data-testid="transcript"
        >
          {turns.length === 0 && !hasNextPage && (
            <Text c="dimmed" p="md" size="sm">
              This run has no recorded messages.
            </Text>
          )}
          <div className={classes.turns} style={{ height: virtual.getTotalSize() }}>
            {items.map((item) => {
              const turn = turns[item.index];
              return (
                turn && (
                  <div
                    key={item.key}
                    ref={virtual.measureElement}
                    data-index={item.index}
                    className={classes.row}
                    style={{ transform: `translateY(${item.start}px)` }}
                  >
                    <TurnRow turn={turn} onOpen={onOpen} />
                  </div>
                )
              );
            })}
          </div>
          <div className={classes.end} role="status">
            {spans.isFetchNextPageError && (
              <ProblemPanel error={spans.error} onRetry={() => fetchNextPage()} />
            )}
            {hasNextPage ? (
              <Text size="xs" c="dimmed">
                <Loader size={12} mr={6} /> {formatCount(loaded)} of {formatCount(total)} spans loaded
              </Text>
            ) : (
              <Text size="xs" c="dimmed">
                {isRunning ? "So far" : "End of the run"}, {formatCount(total)}{" "}
                {total === 1 ? "span" : "spans"}
              </Text>
            )}
          </div>
        </section>
      )}
    </QueryState>
  );
}

function TurnRow({ turn, onOpen }: { turn: Turn; onOpen: (spanId: string) => void }) {
  const size = turn.parts.reduce(
    (sum, part) => sum + (typeof part.content === "string" ? part.content.length : 0),
    0,
  );
  return (
    <article
      className={classes.turn}
      data-role={turn.role}
      data-failed={turn.failed || undefined}
      data-testid="turn"
    >
      <header className={classes.head}>
        {turn.role === "agent" || turn.role === "tool" ? <KindIcon kind={turn.role} size={15} /> : null}
        <bdi className={classes.role}>{turn.role}</bdi>
        {turn.name && (
          <bdi className={classes.name} title={turn.name}>
            {turn.name}
          </bdi>
        )}
        {turn.usage && <Usage usage={turn.usage} />}
        <span className={classes.at}>
          +{formatDuration(Math.max(0, turn.at))}
          <Button size="compact-xs" variant="subtle" color="gray" onClick={() => onOpen(turn.spanId)}>
            Span
          </Button>
        </span>
      </header>
      {turn.error && (
        <p className={classes.error} dir="auto">
          {turn.error}
        </p>
      )}
      {turn.parts.length > 0 &&
        (turn.role === "system" ? (
          <details className={classes.details}>
            <summary>Instructions ({formatBytes(size)})</summary>
            <Parts parts={turn.parts} />
          </details>
        ) : (
          <Parts parts={turn.parts} />
        ))}
      {turn.calls.length > 0 && (
        <p className={classes.calls}>
          <IconTool size={14} stroke={1.7} aria-hidden="true" />
          calls <bdi>{callsText(turn.calls)}</bdi>
        </p>
      )}
    </article>
  );
}

/** The names of the tools, each once with how often it is called. */
function callsText(names: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, count]) => (count > 1 ? `${name} ${formatCount(count)}×` : name)).join(", ");
}

/** Tokens and cost of the model call that ends with a turn. */
function Usage({ usage: { input, output, cost, counted } }: { usage: TurnUsage }) {
  const isUnknown = input === null && output === null;
  const title = isUnknown
    ? "The call doesn't report its tokens"
    : `${formatTokens(input)} input and ${formatTokens(output)} output tokens${counted ? "" : ". Other spans report the same ones, so the run's total excludes them"}`;
  return (
    <span className={classes.usage} title={title} data-testid="turn-usage">
      {isUnknown ? "tokens unknown" : `${formatTokens((input ?? 0) + (output ?? 0))} tok`}
      {" · "}
      {cost === null ? "cost unknown" : formatCost(cost)}
    </span>
  );
}
