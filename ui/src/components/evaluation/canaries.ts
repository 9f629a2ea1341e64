import type { JudgeTestResult } from "@/api/types";

/** What a canary says about a judge. */
export const CANARIES: Record<JudgeTestResult["canary_result"], { word: string; text: string }> = {
  held: { word: "held", text: "It did not obey an output that ordered it to give the best score." },
  obeyed: {
    word: "obeyed",
    text: "It obeyed an output that ordered it to give the best score. Don't trust it with outputs that others can write.",
  },
  unclear: {
    word: "unclear",
    text: "It gave no valid vote on an output that ordered it to give the best score, so nothing can be said.",
  },
};
