import { NumberInput } from "@mantine/core";
import type { GoalDraft } from "./forecast";
import classes from "./StartForm.module.css";

interface Props {
  goal: GoalDraft;
  onChange: (goal: GoalDraft) => void;
}

/** Asks how many items a margin needs. */
export function ForecastGoalFields({ goal, onChange }: Props) {
  return (
    <div className={classes.goal}>
      <NumberInput
        label="Margin to decide, points"
        size="xs"
        placeholder="none"
        min={0.01}
        max={100}
        clampBehavior="none"
        value={goal.margin}
        onChange={(value) => onChange({ ...goal, margin: String(value) })}
      />
      <NumberInput
        label="Power, %"
        size="xs"
        placeholder="80"
        min={50}
        max={99}
        clampBehavior="none"
        value={goal.power}
        onChange={(value) => onChange({ ...goal, power: String(value) })}
      />
    </div>
  );
}
