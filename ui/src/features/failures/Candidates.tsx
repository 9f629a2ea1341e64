import { Button } from "@mantine/core";
import { Link, useNavigate } from "react-router";
import { useFailureCandidates } from "@/api/candidates";
import type { Candidate, FailureCandidates, FailureFilter } from "@/api/types";
import { DataTable } from "@/components/DataTable";
import { formatP } from "@/components/evaluation/measures";
import { formatCount, formatRuns } from "@/components/format";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { newBatchPath, type StartState } from "@/components/replayStart";
import classes from "./Candidates.module.css";
import page from "./FailurePage.module.css";
import { runFilterText } from "./failures";

interface Props {
  projectId: string;
  fingerprint: string;
  filter: FailureFilter;
  /** The run whose recorded values the form of a batch shows. */
  typical: string;
  mayReplay: boolean;
}

/** What failed runs have that good runs don't, with the edit that undoes it. */
export function Candidates({ projectId, fingerprint, filter, typical, mayReplay }: Props) {
  const query = useFailureCandidates(fingerprint, filter);
  const navigate = useNavigate();
  const test = (edits: NonNullable<Candidate["edits"]>) => {
    const state: StartState = { edits };
    navigate(newBatchPath(projectId, { run_filter: runFilterText(filter, fingerprint) }, typical), { state });
  };
  return (
    <section className={page.section} data-testid="candidates">
      <h2>What differs</h2>
      <QueryState query={query} skeleton={<SkeletonRows count={4} height={32} />}>
        {(found) => (
          <>
            <p className={page.dim}>{comparedText(found)}</p>
            {found.candidates.length > 0 && (
              <DataTable
                label="What differs"
                stacks
                rows={found.candidates}
                rowKey={({ key }) => key}
                rowProps={({ key }) => ({ "data-testid": "candidate", "data-key": key })}
                columns={[
                  { header: "Failed runs have", cell: (candidate) => <Words candidate={candidate} /> },
                  {
                    header: "Failed",
                    number: true,
                    cell: ({ failed }) => `${formatCount(failed.count)} of ${formatCount(failed.of)}`,
                  },
                  {
                    header: "Good",
                    number: true,
                    cell: ({ good }) => `${formatCount(good.count)} of ${formatCount(good.of)}`,
                  },
                  {
                    header: "Verdict",
                    cell: ({ separates, p_adjusted }) => (
                      <span
                        title={`p ${formatP(p_adjusted)}, corrected for ${formatCount(found.tested)} tests`}
                      >
                        {separates ? "separates them" : "may be chance"}
                      </span>
                    ),
                  },
                  {
                    header: "Test",
                    hideHeader: true,
                    cell: ({ edits, why_no_edit, title }) =>
                      edits && mayReplay ? (
                        <Button
                          size="compact-xs"
                          variant="default"
                          onClick={() => test(edits)}
                          aria-label={`Test: ${title}`}
                        >
                          Test
                        </Button>
                      ) : (
                        why_no_edit && (
                          <span className={page.dim} title={why_no_edit}>
                            no edit
                          </span>
                        )
                      ),
                  },
                ]}
              />
            )}
            <BetweenTwo found={found} projectId={projectId} />
          </>
        )}
      </QueryState>
    </section>
  );
}

function Words({ candidate: { title, moves_with, why_no_edit } }: { candidate: Candidate }) {
  return (
    <div className={classes.words}>
      <bdi>{title}</bdi>
      {moves_with.length > 0 && (
        <span className={page.dim}>
          Moves together with: <bdi>{moves_with.join("; ")}</bdi>
        </span>
      )}
      {why_no_edit && <span className={page.dim}>{why_no_edit}</span>}
    </div>
  );
}

/** What was compared, and whether anything tells the runs apart. */
export function comparedText({ failed, good, tested, candidates }: FailureCandidates): string {
  if (good.read === 0)
    return "No good run of the agent was found in the window or before the first failure, so there is nothing to compare with.";
  const runs = `${part(failed)} failed ${part(failed) === "1" ? "run" : "runs"} and ${part(good)} good ${part(good) === "1" ? "run" : "runs"}`;
  const large = failed.too_large + good.too_large;
  const without = large > 0 ? ` ${formatRuns(large)} too large to read.` : "";
  if (candidates.some(({ separates }) => separates))
    return `Compared ${runs}. What separates them best comes first; a test over the runs shows whether it is the cause.${without}`;
  if (tested === 0) return `Compared ${runs}. Too few differ in anything to tell it from chance.${without}`;
  return `Compared ${runs}. Nothing separates them beyond chance.${without}`;
}

function part({ read, matched }: FailureCandidates["failed"]): string {
  return read < matched ? `the newest ${formatCount(read)} of ${formatCount(matched)}` : formatCount(read);
}

function BetweenTwo({ found, projectId }: { found: FailureCandidates; projectId: string }) {
  const { first_failed, last_good, differences } = found;
  if (!last_good) return null;
  return (
    <div className={classes.between} data-testid="between-two">
      <p>
        Between the <Link to={`/p/${projectId}/runs/${last_good.run_id}`}>last good run</Link> and the{" "}
        <Link to={`/p/${projectId}/runs/${first_failed.run_id}`}>first failed run</Link> after it
        {differences.length === 0 ? ", no recorded setting differs" : " differs"} (
        <Link to={`/p/${projectId}/diff/${last_good.run_id}/${first_failed.run_id}`}>compare them</Link>)
        {differences.length === 0 ? "." : ":"}
      </p>
      {differences.length > 0 && (
        <ul>
          {differences.map(({ key, title }) => (
            <li key={key}>
              <bdi>{title}</bdi>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
