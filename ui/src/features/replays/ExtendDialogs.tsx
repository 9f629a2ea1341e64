import { NumberInput } from "@mantine/core";
import { useState } from "react";
import { ApiError } from "@/api/problem";
import { useExtendReplayBatch } from "@/api/replayBatches";
import { useExtendReplay } from "@/api/replays";
import type { Replay, ReplayBatch, ReplayExtend } from "@/api/types";
import { costText, hasKnownCost } from "@/components/evaluation/progress";
import { FormDialog } from "@/components/FormDialog";
import { formatCost, formatCount } from "@/components/format";
import { numberMistake } from "@/components/formErrors";
import { missingOf, replayableRuns } from "./batches";
import { extension } from "./evidence";
import { MOST_ATTEMPTS_OF_RUN } from "./newBatch";
import { missingAttempts } from "./words";

/** Makes more attempts of a replay, or those that are missing. */
export function ExtendReplay({ replay, onClose }: { replay: Replay; onClose: () => void }) {
  const extend = useExtendReplay(replay);
  const asked = extension(replay, replay.verdict);
  const costs = replay.attempts.flatMap(({ cost_usd, status, reused }) =>
    status === "succeeded" && !reused && cost_usd !== null ? [cost_usd] : [],
  );
  return (
    <ExtendForm
      of={replay}
      most={100}
      asked={asked}
      missing={missingAttempts(replay)}
      meanCost={costs.length === 0 ? null : costs.reduce((sum, cost) => sum + cost, 0) / costs.length}
      mutation={extend}
      onClose={onClose}
    />
  );
}

/** Makes more attempts of each run, or those that are missing. */
export function ExtendBatch({ batch, onClose }: { batch: ReplayBatch; onClose: () => void }) {
  const extend = useExtendReplayBatch(batch);
  const { cost, progress } = batch;
  const isKnown = progress.done > 0 && cost.calls > 0 && hasKnownCost(cost);
  return (
    <ExtendForm
      of={batch}
      runs={replayableRuns(batch)}
      most={MOST_ATTEMPTS_OF_RUN}
      missing={missingOf(batch)}
      meanCost={isKnown ? cost.usd / progress.done : null}
      mutation={extend}
      onClose={onClose}
    />
  );
}

interface ExtendProps {
  of: Pick<Replay, "controls" | "treatments" | "max_cost_usd" | "cost">;
  /** Of how many runs. Without it, of one. */
  runs?: number;
  /** The most attempts of a role that a run has. */
  most: number;
  /** What the verdict asks for. */
  asked?: ReturnType<typeof extension>;
  /** Attempts that failed or were not made. */
  missing: number;
  /** What an attempt cost so far; null if that is unknown. */
  meanCost: number | null;
  mutation: {
    isPending: boolean;
    error: Error | null;
    mutate: (body: ReplayExtend, options: { onSuccess: () => void }) => void;
  };
  onClose: () => void;
}

/** How many attempts there will be, and what they may cost. */
function ExtendForm({ of, runs, most, asked, missing, meanCost, mutation, onClose }: ExtendProps) {
  const [controls, setControls] = useState<number | string>(asked?.controls ?? of.controls);
  const [treatments, setTreatments] = useState<number | string>(asked?.treatments ?? of.treatments);
  const [cap, setCap] = useState<number | string>(of.max_cost_usd ?? "");
  const more = (Number(controls) + Number(treatments) - of.controls - of.treatments) * (runs ?? 1);
  const count = Math.max(0, more) + missing;
  const cost = meanCost === null || count === 0 ? "" : ` · about ${formatCost(meanCost * count)}`;
  const at = (name: string) =>
    mutation.error instanceof ApiError ? mutation.error.fieldMessage(`body.${name}`) : undefined;
  const mistakes = [numberMistake(controls, true), numberMistake(treatments, true), numberMistake(cap)];
  const submit = () =>
    mutation.mutate(
      {
        controls: Number(controls),
        treatments: Number(treatments),
        ...(cap !== "" && { max_cost_usd: Number(cap) }),
      },
      { onSuccess: onClose },
    );
  const number = (set: (value: number | string) => void) => (value: number | string | bigint) =>
    set(typeof value === "bigint" ? Number(value) : value);
  const total = runs === undefined ? "Total" : "Of each run,";
  return (
    <FormDialog
      title="Run more attempts"
      action={`Run ${formatCount(count)} attempts${cost}`}
      mutation={mutation}
      onSubmit={submit}
      onClose={onClose}
      disabled={
        controls === "" ||
        treatments === "" ||
        mistakes.some((mistake) => mistake !== undefined) ||
        more < 0 ||
        more + missing === 0
      }
    >
      <div>
        {asked
          ? `${formatCount(asked.more)} more would show a clear effect.`
          : "More attempts can detect smaller effects."}{" "}
        Existing attempts are kept
        {missing > 0 ? `. The ${formatCount(missing)} that failed or are missing run too.` : "."} Each verdict
        makes the next one stricter, so that looking again finds no effect by chance.
      </div>
      <NumberInput
        label={`${total} without the edits`}
        description={`${formatCount(of.controls)} so far.`}
        min={of.controls}
        max={most}
        clampBehavior="none"
        value={controls}
        onChange={number(setControls)}
        error={mistakes[0] ?? at("controls")}
        data-autofocus
      />
      <NumberInput
        label={`${total} with the edits`}
        description={`${formatCount(of.treatments)} so far.`}
        min={of.treatments}
        max={most}
        clampBehavior="none"
        value={treatments}
        onChange={number(setTreatments)}
        error={mistakes[1] ?? at("treatments")}
      />
      <NumberInput
        label="Cost cap ($)"
        description={`For all calls, including earlier ones. So far: ${costText(of.cost)}.`}
        placeholder="no cap"
        min={0.000001}
        max={1_000_000}
        decimalScale={6}
        clampBehavior="none"
        value={cap}
        onChange={number(setCap)}
        error={mistakes[2] ?? at("max_cost_usd")}
      />
    </FormDialog>
  );
}
