import type { Replay } from "@/api/types";
import { callsText } from "@/components/evaluation/progress";
import { Fact, FactList, TimeFact } from "@/components/Fact";
import { formatCost, formatDuration, NONE } from "@/components/format";
import { planCost } from "./plan";

interface Props {
  /** A replay or a batch. */
  of: Pick<Replay, "estimate" | "max_cost_usd" | "provider" | "started_at" | "finished_at" | "executor">;
  /** More facts, before the times. */
  children?: React.ReactNode;
}

/** What a replay or a batch may cost, who makes its calls, and how long it took. */
export function ReplayFacts({ of, children }: Props) {
  const { estimate, max_cost_usd: cap, provider, started_at, finished_at, executor } = of;
  const took = started_at && finished_at ? Date.parse(finished_at) - Date.parse(started_at) : null;
  return (
    <FactList inline>
      <Fact
        label="Estimate"
        value={estimate.calls === 0 ? "no calls" : `${planCost(estimate)} for ${callsText(estimate.calls)}`}
      />
      <Fact label="Cap" value={cap === null ? "None" : formatCost(cap)} />
      <Fact
        label="Calls by"
        value={executor === "cassette" ? "The recording only" : (provider?.name ?? null)}
      />
      {children}
      <TimeFact label="Started" time={started_at} />
      <Fact label="Took" value={took === null ? NONE : formatDuration(took)} />
    </FactList>
  );
}
