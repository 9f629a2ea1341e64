import { Progress, Text } from "@mantine/core";
import type { Replay } from "@/api/types";
import shared from "@/components/evaluation/Evaluation.module.css";
import { EvaluationStatusMark } from "@/components/evaluation/Marks";
import { progressText } from "./words";

/** How far a replay or a batch in a list is. */
export function ProgressCell({ of }: { of: Pick<Replay, "name" | "status" | "progress"> }) {
  const { total, done } = of.progress;
  return (
    <div className={shared.running}>
      <EvaluationStatusMark status={of.status} />
      <Text size="xs">{progressText(of)}</Text>
      <Progress
        size="sm"
        value={total > 0 ? (100 * done) / total : 0}
        aria-label={`Progress of ${of.name}`}
      />
    </div>
  );
}
