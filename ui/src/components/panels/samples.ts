import type { DatasetItem, EvalRunItem, JudgeSample, JudgeTestResult, RunItemPreview } from "@/api/types";
import { itemName } from "@/components/evaluation/items";
import { outputValue } from "@/components/evaluation/outputs";
import { formatCost, formatCount } from "@/components/format";

/** How many items a judge is tried on. */
export const TRY_ITEMS = 5;

/** An output to try judges or graders on, with its name. */
export interface Sample {
  name: string;
  sample: JudgeSample;
}

/** What a judge is tried on: the outputs of an eval-run, or with null the reference outputs of the items. */
export function samplesOf(items: readonly DatasetItem[], outputs: readonly EvalRunItem[] | null): Sample[] {
  const samples = outputs === null ? items.flatMap(ofReference) : outputs.flatMap(ofOutput);
  return samples.slice(0, TRY_ITEMS);
}

function ofReference(item: DatasetItem, index: number): Sample[] {
  const { input, reference_output: reference, metadata, key } = item;
  if (reference === null || reference === undefined) return [];
  return [
    {
      name: key ?? `Item ${index + 1}`,
      sample: { input, output: reference, reference_output: reference, metadata } as JudgeSample,
    },
  ];
}

function ofOutput(item: EvalRunItem): Sample[] {
  const { input, reference_output, metadata, repeats } = item;
  const output = repeats.map(({ result }) => outputValue(result)).find((value) => value !== null);
  if (output === undefined) return [];
  return [{ name: itemName(item), sample: { input, output, reference_output, metadata } as JudgeSample }];
}

/** What a judge of runs is tried on: those of the examples that can be scored. */
export function samplesOfRuns(examples: readonly RunItemPreview[]): Sample[] {
  return examples
    .filter(({ skipped }) => skipped === null)
    .slice(0, TRY_ITEMS)
    .map(({ name, run_id, input, reference_output: output, metadata }) => ({
      name: name || run_id,
      sample: { input, output, metadata } as JudgeSample,
    }));
}

/** What a test cost: "6 calls, $0.012, and 1 of unknown cost". */
export function testCost({ votes, canary }: JudgeTestResult): string {
  const all = [...votes, canary].map(({ vote }) => vote);
  const requests = all.reduce((sum, vote) => sum + vote.requests, 0);
  const known = all.flatMap(({ cost_usd: cost }) => (cost === null ? [] : [cost]));
  const unknown = all.length - known.length;
  const parts = [`${formatCount(requests)} ${requests === 1 ? "call" : "calls"}`];
  if (known.length > 0) parts.push(formatCost(known.reduce((sum, cost) => sum + cost, 0)));
  if (unknown > 0) parts.push(`${formatCount(unknown)} of unknown cost`);
  return `${parts.join(", ")}.`;
}
