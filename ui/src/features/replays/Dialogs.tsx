import { NumberInput } from "@mantine/core";
import { useState } from "react";
import { ApiError } from "@/api/problem";
import { useCancelReplay, useDeleteReplay, useExtendReplay, useRenameReplay } from "@/api/replays";
import type { Replay } from "@/api/types";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { costText } from "@/components/evaluation/progress";
import { RenameDialog } from "@/components/evaluation/RenameDialog";
import { FormDialog } from "@/components/FormDialog";
import { formatCost, formatCount, formatCountOf } from "@/components/format";
import { numberMistake } from "@/components/formErrors";
import { extension } from "./evidence";
import { missingAttempts, progressText } from "./words";

interface Props {
  replay: Replay;
  onClose: () => void;
}

export function RenameReplay({ replay, onClose }: Props) {
  const rename = useRenameReplay(replay);
  return <RenameDialog what="replay" name={replay.name} mutation={rename} onClose={onClose} />;
}

export function CancelDialog({ replay, onClose }: Props) {
  const cancel = useCancelReplay(replay);
  return (
    <ConfirmDialog
      title={`Cancel “${replay.name}”?`}
      action="Cancel replay"
      closeLabel="Let it run"
      mutation={cancel}
      onConfirm={() => cancel.mutate(undefined, { onSuccess: onClose })}
      onClose={onClose}
    >
      {progressText(replay)}, cost so far: {costText(replay.cost)}. Attempts that ended are kept and give the
      verdict. You can run the missing ones later.
    </ConfirmDialog>
  );
}

export function DeleteDialog({ replay, onClose, onDeleted }: Props & { onDeleted: () => void }) {
  const remove = useDeleteReplay(replay);
  return (
    <ConfirmDialog
      title={`Delete “${replay.name}”?`}
      action="Delete replay"
      mutation={remove}
      onConfirm={() => remove.mutate(undefined, { onSuccess: onDeleted })}
      onClose={onClose}
    >
      Its edits, its verdict and the list of its attempts are deleted for good. The recorded run and the runs
      of {formatCountOf(replay.attempts.length, "attempt")} are kept.
    </ConfirmDialog>
  );
}

/** Makes more attempts, or those that are missing. */
export function ExtendDialog({ replay, onClose }: Props) {
  const extend = useExtendReplay(replay);
  const asked = extension(replay, replay.verdict);
  const [controls, setControls] = useState<number | string>(asked?.controls ?? replay.controls);
  const [treatments, setTreatments] = useState<number | string>(asked?.treatments ?? replay.treatments);
  const [cap, setCap] = useState<number | string>(replay.max_cost_usd ?? "");
  const missing = missingAttempts(replay);
  const more = Number(controls) + Number(treatments) - replay.controls - replay.treatments;
  const at = (name: string) =>
    extend.error instanceof ApiError ? extend.error.fieldMessage(`body.${name}`) : undefined;
  const mistakes = [numberMistake(controls, true), numberMistake(treatments, true), numberMistake(cap)];
  const submit = () =>
    extend.mutate(
      {
        controls: Number(controls),
        treatments: Number(treatments),
        ...(cap !== "" && { max_cost_usd: Number(cap) }),
      },
      { onSuccess: onClose },
    );
  const number = (set: (value: number | string) => void) => (value: number | string | bigint) =>
    set(typeof value === "bigint" ? Number(value) : value);
  return (
    <FormDialog
      title="Run more attempts"
      action={`Run ${formatCount(Math.max(0, more) + missing)} attempts${costOf(replay, more + missing)}`}
      mutation={extend}
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
        label="Total without the edits"
        description={`${formatCount(replay.controls)} so far.`}
        min={replay.controls}
        max={100}
        clampBehavior="none"
        value={controls}
        onChange={number(setControls)}
        error={mistakes[0] ?? at("controls")}
        data-autofocus
      />
      <NumberInput
        label="Total with the edits"
        description={`${formatCount(replay.treatments)} so far.`}
        min={replay.treatments}
        max={100}
        clampBehavior="none"
        value={treatments}
        onChange={number(setTreatments)}
        error={mistakes[1] ?? at("treatments")}
      />
      <NumberInput
        label="Cost cap ($)"
        description={`For all calls, including earlier ones. So far: ${costText(replay.cost)}.`}
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

/** About what so many attempts cost, from those that are there. */
function costOf(replay: Replay, count: number): string {
  const costs = replay.attempts.flatMap(({ cost_usd, status, reused }) =>
    status === "succeeded" && !reused && cost_usd !== null ? [cost_usd] : [],
  );
  if (costs.length === 0 || count <= 0) return "";
  const mean = costs.reduce((sum, cost) => sum + cost, 0) / costs.length;
  return ` · about ${formatCost(mean * count)}`;
}
