import type { EvaluationAdvice } from "@/api/types";
import classes from "./Evaluation.module.css";

/** Where the next dollar goes. */
export function Advice({ advice }: { advice: EvaluationAdvice | null }) {
  if (advice === null) return null;
  return (
    <p className={classes.note} data-testid="advice">
      {advice.sentence}
    </p>
  );
}
