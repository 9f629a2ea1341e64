import type { EvalRun } from "@/api/types";
import { formatCount } from "@/components/format";
import { votesCount } from "./votes";

/** What an evaluation that ended still has to make, and what failed and can be made again. */
export interface MissingWork {
  outputs: number;
  failedOutputs: number;
  votes: number;
  failedVotes: number;
}

/** Whether there is anything to make. */
export function hasWork(work: MissingWork): boolean {
  return Object.values(work).some((count) => count > 0);
}

/** Whether what stopped an evaluation can be fixed: it keeps its connections, so one that was deleted is gone. */
export function mayGoOn({ error }: Pick<EvalRun, "error">): boolean {
  return error?.code !== "provider_deleted";
}

/** "3 outputs", "3 outputs and 1 vote", "1 vote"; without judges no votes. */
export function workText(outputs: number, votes: number): string {
  const texts = [
    ...(outputs > 0 || votes === 0
      ? [`${formatCount(outputs)} ${outputs === 1 ? "output" : "outputs"}`]
      : []),
    ...(votes > 0 ? [votesCount(votes)] : []),
  ];
  return texts.join(" and ");
}
