import { ActionIcon, Button, Skeleton, Table, Tooltip } from "@mantine/core";
import { IconArrowLeft } from "@tabler/icons-react";
import { useMemo } from "react";
import { Link, useLocation, useNavigate, useParams, useSearchParams } from "react-router";
import { useFailedRunGroup } from "@/api/failures";
import type { FailedRun } from "@/api/types";
import { Delayed } from "@/components/Delayed";
import { Fact, FactList } from "@/components/Fact";
import { chips, withoutParams, withParam, withTimeRange } from "@/components/filters/filters";
import { formatAge, formatCost, formatCount, formatDuration, formatTime } from "@/components/format";
import { KindIcon } from "@/components/KindIcon";
import { ProblemPanel } from "@/components/ProblemPanel";
import { useKeys } from "@/components/useKeys";
import { useNow } from "@/components/useNow";
import { useProjectId } from "@/components/useProject";
import classes from "./FailurePage.module.css";
import { failureQuery, readFailureFilters, readWindow, whatFailed } from "./failures";
import { Parts } from "./Rank";
import { Sparkline } from "./Sparkline";

/** One way in which runs fail: what it is, what its runs have in common, and the runs. */
export function FailurePage() {
  const projectId = useProjectId();
  const { fingerprint = "" } = useParams();
  const [params] = useSearchParams();
  const range = readWindow(params);
  const filter = useMemo(() => failureQuery(projectId, params), [projectId, params]);
  const query = useFailedRunGroup(fingerprint, filter);
  const filters = useMemo(() => readFailureFilters(params), [params]);
  const active = [
    ...chips(filters),
    ...(filters.search.trim() === "" ? [] : [{ param: "search", label: `search: ${filters.search.trim()}` }]),
  ];
  const navigate = useNavigate();
  const location = useLocation();
  const now = useNow(10_000);
  const back = () => (location.key === "default" ? navigate("..", { relative: "path" }) : navigate(-1));
  useKeys({ Escape: back });
  const group = query.data?.group;
  return (
    <div className={classes.scroll} aria-busy={query.isPending}>
      <title>{group ? `${whatFailed(group)} · Looptrace` : "Failure · Looptrace"}</title>
      <div className={classes.column}>
        <header className={classes.head}>
          <Tooltip label="Back to the failures">
            <ActionIcon variant="subtle" color="gray" onClick={back} aria-label="Back to the failures">
              <IconArrowLeft size={17} stroke={1.7} />
            </ActionIcon>
          </Tooltip>
          <h1 className={classes.name}>{group ? whatFailed(group) : "Failure"}</h1>
          {group && (
            <Button
              component={Link}
              variant="default"
              to={`/p/${projectId}/runs?${runsOf(params, fingerprint)}`}
            >
              All its runs
            </Button>
          )}
        </header>
        {active.length > 0 && (
          <p className={classes.dim}>
            Only runs with {active.map(({ label }) => label).join(", ")}.{" "}
            <Link to={{ search: withoutParams(params, active).toString() }} replace>
              All of them
            </Link>
          </p>
        )}
        {query.isError && !group ? (
          <ProblemPanel error={query.error} onRetry={() => query.refetch()} />
        ) : !group || !query.data ? (
          <Delayed>
            <Skeleton h={70} />
            <Skeleton h={160} mt="md" />
          </Delayed>
        ) : (
          <>
            <p className={classes.template}>{group.message_template || "no message"}</p>
            <p className={classes.where}>
              <KindIcon kind={group.step.kind} size={14} /> {group.step.name || "unnamed"}
              {group.agent_name && ` in ${group.agent_name}`}
            </p>
            <FactList>
              <Fact label={`Runs, ${range.label.toLowerCase()}`} value={formatCount(group.count)} />
              <Fact label="Of all failed runs" value={percent(group.share)} />
              <Fact
                label="Of the agent's runs"
                value={`${percent(group.agent_share)} of ${formatCount(group.agent_run_count)}`}
              />
              <Fact label="Users" value={group.user_count === null ? null : formatCount(group.user_count)} />
              <Fact label="Cost of its runs" value={formatCost(group.cost_usd)} />
              <Fact
                label="First seen"
                value={`${formatAge(group.first_seen, now)} ago`}
                title={formatTime(group.first_seen)}
              />
              <Fact
                label="Last seen"
                value={`${formatAge(group.last_seen, now)} ago`}
                title={formatTime(group.last_seen)}
              />
            </FactList>
            <section className={classes.section}>
              <h2>Over time</h2>
              <Sparkline counts={group.counts} wide />
            </section>
            <div className={classes.pair}>
              <section className={classes.section}>
                <h2>What its runs have in common</h2>
                {group.contrasts.length === 0 ? (
                  <p className={classes.dim}>Nothing that other runs of the agent lack.</p>
                ) : (
                  <Table verticalSpacing={4} fz="sm" className={classes.table}>
                    <Table.Thead>
                      <Table.Tr>
                        <Table.Th>What</Table.Th>
                        <Table.Th ta="right">Failing runs</Table.Th>
                        <Table.Th ta="right">Other runs</Table.Th>
                      </Table.Tr>
                    </Table.Thead>
                    <Table.Tbody>
                      {group.contrasts.map((contrast) => (
                        <Table.Tr key={`${contrast.attribute} ${contrast.value}`}>
                          <Table.Td>
                            <span className={classes.dim}>
                              {contrast.attribute.replace(/^metadata\./, "")}
                            </span>{" "}
                            {contrast.value}
                          </Table.Td>
                          <Table.Td ta="right">{share(contrast.with, contrast.runs)}</Table.Td>
                          <Table.Td ta="right">{share(contrast.others_with, contrast.others_runs)}</Table.Td>
                        </Table.Tr>
                      ))}
                    </Table.Tbody>
                  </Table>
                )}
              </section>
              <section className={classes.section}>
                <h2>Why it stands where it does</h2>
                <Parts group={group} weights={query.data.weights} />
              </section>
            </div>
            <section className={classes.section}>
              <h2>Runs</h2>
              <ul className={classes.runs}>
                <RunLine run={group.representative} projectId={projectId} now={now} isRepresentative />
                {group.sample
                  .filter(({ run_id }) => run_id !== group.representative.run_id)
                  .map((run) => (
                    <RunLine key={run.run_id} run={run} projectId={projectId} now={now} />
                  ))}
              </ul>
            </section>
          </>
        )}
      </div>
    </div>
  );
}

/** The address of the list of runs with the group's runs: of the same time, where the list knows it, and filters. */
function runsOf(params: URLSearchParams, fingerprint: string): URLSearchParams {
  const { value } = readWindow(params);
  const preset = value === "90d" ? null : value;
  return withTimeRange(withParam(params, "fingerprint", fingerprint), { preset });
}

interface RunLineProps {
  run: FailedRun;
  projectId: string;
  now: number;
  isRepresentative?: boolean;
}

function RunLine({ run, projectId, now, isRepresentative = false }: RunLineProps) {
  return (
    <li className={classes.run} data-testid="failed-run">
      <div className={classes.line}>
        <Link to={`/p/${projectId}/runs/${run.run_id}?span=${run.span_id}`}>{run.name || "unnamed"}</Link>
        {isRepresentative && <span className={classes.badge}>typical</span>}
        <span className={classes.dim}>
          failed at {run.step.name || "unnamed"} · {formatDuration(run.duration_ms)}
        </span>
        <span className={classes.age} title={formatTime(run.start_time)}>
          {formatAge(run.start_time, now)} ago
        </span>
      </div>
      {run.error && (
        <p className={classes.error}>{[run.error.type, run.error.message].filter(Boolean).join(": ")}</p>
      )}
    </li>
  );
}

function percent(part: number): string {
  return `${(part * 100).toFixed(part > 0 && part < 0.0995 ? 1 : 0)}\u00a0%`;
}

function share(part: number, whole: number): string {
  if (whole === 0) return "none";
  return `${formatCount(part)} of ${formatCount(whole)} (${percent(part / whole)})`;
}
