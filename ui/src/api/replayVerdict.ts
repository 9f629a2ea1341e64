/** What a verdict says, as docs/replay.md explains it. Lists have its first two members only. */
export interface ReplayVerdict {
  verdict: string;
  sentence: string;
  reasons?: { code: string; text: string }[];
  mode?: string;
  /** The controls and treatments that count. */
  k?: number;
  m?: number;
  design?: Design;
  attainable_p?: { before: number | null; after: number | null; channels: number };
  channels?: Record<ChannelName, Channel>;
  reproducibility?: { class: string | null; bytes: Match; decision: Match; outcome: Match };
  drift?: {
    flag: boolean;
    measured: boolean | null;
    ratio: number | null;
    p: number | null;
    changed: string[] | null;
  };
  exposure?: {
    controls: Record<string, number>;
    treatments: Record<string, number>;
    live_share: number | null;
    taint_share: number | null;
  };
  first_divergence?: Place | null;
  first_attributable_step?: Place | null;
  steps?: StepResult[] | null;
  outside_cone_differences?: number;
  more_replays_needed?: Design | null;
  alpha?: number;
  seed?: string;
  engine_version?: string;
}

export interface Design {
  controls: number;
  treatments: number;
}

export type ChannelName = "outcome" | "structure" | "answer" | "cost" | "latency" | "tokens";

/** The effect on one side. Unknown figures are null, and `flags` say why. */
export interface Channel {
  p: number | null;
  p_adjusted: number | null;
  test: string;
  measure: "difference" | "ratio" | "energy_distance" | "";
  effect: number | null;
  ci: [number, number] | null;
  minimum_detectable: number | null;
  controls: Side;
  treatments: Side;
  /** The mean distance of a control and a treatment; only of distances. */
  across?: number | null;
  flags: string[] | null;
}

export interface Side {
  mean: number | null;
  n: number;
}

export interface Match {
  matched: number;
  of: number;
  rate: number | null;
  upper95: number | null;
  flag?: string;
}

export interface Place {
  position: number;
  id: string;
  name: string;
}

export interface StepResult extends Place {
  effect: number | null;
  p: number | null;
  q: number | null;
  controls: number;
  treatments: number;
  flag?: string;
}

/** Reads the verdict of a replay, whose contract leaves its members open. */
export function readVerdict(verdict: { verdict: string; sentence: string }): ReplayVerdict {
  return verdict as ReplayVerdict;
}
