import type { Signal } from "@/api/types";

/** What looks wrong with runs without being an error. `label` is a badge and a filter's value. */
export const SIGNALS: readonly { value: Signal; label: string; meaning: string }[] = [
  {
    value: "repeated_call",
    label: "Repeated call",
    meaning: "The agent made the same tool call with the same arguments three times without progress.",
  },
  {
    value: "empty_answer",
    label: "Empty answer",
    meaning: "The last answer of the model has nothing in it.",
  },
  {
    value: "cut_answer",
    label: "Cut-off answer",
    meaning: "The last answer of the model ended at its length limit.",
  },
  {
    value: "unused_error",
    label: "Ignored tool error",
    meaning: "A tool returned an error, and the answer right after it doesn't speak of it.",
  },
  {
    value: "slow",
    label: "Slow",
    meaning: "The run took longer than is usual for the agent.",
  },
  {
    value: "expensive",
    label: "Expensive",
    meaning: "The run cost more than is usual for the agent.",
  },
  {
    value: "many_tokens",
    label: "Many tokens",
    meaning: "The run used more tokens than is usual for the agent.",
  },
];

/** The signal of that name, undefined for a class of failures. */
export function signalOf(name: string) {
  return SIGNALS.find(({ value }) => value === name);
}
