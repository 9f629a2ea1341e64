import { formatCountOf } from "@/components/format";
import { Notice } from "./Notice";
import type { StoppedJudge } from "./trust";

/** Which judges were stopped, and where their errors are read. */
export function StoppedJudges({
  judges,
  mayResume,
}: {
  judges: readonly StoppedJudge[];
  mayResume: boolean;
}) {
  return judges.map(({ panel, judge, stopped }) => (
    <Notice key={`${panel} ${judge}`}>
      <span data-testid="stopped-judge">
        <bdi>{judge}</bdi> of <bdi>{panel}</bdi> was stopped after{" "}
        {formatCountOf(stopped.failures, "failure")}
        one after the other: <bdi>{stopped.error.detail}</bdi> {stopped.remedy}{" "}
        {mayResume && "Then resume to have its votes, or drop this judge."}
      </span>
    </Notice>
  ));
}
