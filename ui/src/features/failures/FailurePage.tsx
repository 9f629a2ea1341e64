import { Box, Button, Skeleton, Stack } from "@mantine/core";
import { IconAlertTriangle, IconChevronDown, IconFlask } from "@tabler/icons-react";
import { useMemo, useState } from "react";
import { Link, useParams, useSearchParams } from "react-router";
import { useDecideFailure, useFailedRunGroup } from "@/api/failures";
import type { FailedRun, FailureDecision, FailureState } from "@/api/types";
import { Ago } from "@/components/Ago";
import { CompareWithGood } from "@/components/CompareWithGood";
import { DataTable } from "@/components/DataTable";
import { Fact, FactList } from "@/components/Fact";
import { chips, withoutParams, withParam, withTimeRange } from "@/components/filters/filters";
import { SampledNote } from "@/components/filters/TimeNotes";
import { FindingsSection } from "@/components/findings/FindingsSection";
import { formatCost, formatCount, formatDuration, formatPercent, NONE } from "@/components/format";
import { KindIcon } from "@/components/KindIcon";
import { onDemand } from "@/components/onDemand";
import { Page } from "@/components/Page";
import { ProblemPanel } from "@/components/ProblemPanel";
import { QueryState } from "@/components/QueryState";
import { newBatchPath } from "@/components/replayStart";
import { signalOf } from "@/components/signals";
import { useBack } from "@/components/useBack";
import { useNow } from "@/components/useNow";
import { allows, useProject, useProjectId } from "@/components/useProject";
import { BeganIn } from "./BeganIn";
import { Candidates } from "./Candidates";
import classes from "./FailurePage.module.css";
import {
  exampleMessage,
  failureQuery,
  readFailureFilters,
  readWindow,
  runFilterText,
  whatFailed,
} from "./failures";
import { RankParts } from "./Rank";
import { Sparkline } from "./Sparkline";
import stateClasses from "./State.module.css";
import { StateBadge } from "./StateBadge";
import { NoteDialog, StateMenu } from "./StateMenu";
import { revisionOf, stateText } from "./states";

const AskModel = onDemand(async () => (await import("./AskModel")).default);

/** One group of failures: what failed, what its runs have in common, and the runs. */
export function FailurePage() {
  const projectId = useProjectId();
  const { fingerprint = "" } = useParams();
  const [params] = useSearchParams();
  const filter = useMemo(() => failureQuery(projectId, params), [projectId, params]);
  const query = useFailedRunGroup(fingerprint, filter);
  const filters = useMemo(() => readFailureFilters(params), [params]);
  const search = filters.search.trim();
  const active = [
    ...chips(filters),
    ...(search === "" ? [] : [{ param: "search", label: `search: ${search}` }]),
  ];
  const now = useNow(10_000);
  const back = useBack();
  const group = query.data?.group;
  const project = useProject();
  const mayDecide = allows(project, "runs:write");
  const mayReplay = allows(project, "replays:write");
  const decide = useDecideFailure(projectId);
  const [isNoting, setNoting] = useState(false);
  const set = (decision: FailureDecision) =>
    group &&
    decide.mutate(
      { fingerprint, decision: { ...decision, base_revision: revisionOf(group.state) } },
      { onSuccess: () => setNoting(false) },
    );
  return (
    <Page
      title={group ? whatFailed(group) : "Failure"}
      badges={group && <StateBadge state={group.state} />}
      back={{ label: "Back to the failures", onClick: back }}
      icon={<IconAlertTriangle size={18} stroke={1.7} color="var(--lt-error)" aria-hidden="true" />}
      context={
        active.length > 0 && (
          <>
            Only runs with {active.map(({ label }) => label).join(", ")}.{" "}
            <Link to={{ search: withoutParams(params, active).toString() }} replace>
              Show all runs
            </Link>
          </>
        )
      }
      actions={
        <>
          {group && (
            <CompareWithGood
              key={group.representative.run_id}
              projectId={projectId}
              run={group.representative}
              traces={filter.traces}
              source={filter.source}
            />
          )}
          {group && mayReplay && (
            <Button
              size="compact-sm"
              component={Link}
              variant="default"
              leftSection={<IconFlask size={14} />}
              to={newBatchPath(
                projectId,
                { run_filter: runFilterText(filter, fingerprint) },
                group.representative.run_id,
              )}
            >
              Test an edit
            </Button>
          )}
          {group && mayDecide && (
            <StateMenu state={group.state} onDecide={set} onResolveWithNote={() => setNoting(true)}>
              <Button
                size="compact-sm"
                variant="default"
                loading={decide.isPending}
                rightSection={<IconChevronDown size={13} />}
              >
                {group.state.state === "open" ? "Resolve or mute" : "Change state"}
              </Button>
            </StateMenu>
          )}
          <Button
            size="compact-sm"
            component={Link}
            variant="default"
            to={`/p/${projectId}/runs?${runsOf(params, fingerprint)}`}
          >
            View all runs
          </Button>
        </>
      }
    >
      {isNoting && (
        <NoteDialog
          mutation={decide}
          onResolve={(note) => set({ state: "resolved", note })}
          onClose={() => setNoting(false)}
        />
      )}
      {decide.error && !isNoting && (
        <Box mb="sm">
          <ProblemPanel error={decide.error} />
        </Box>
      )}
      <QueryState
        query={query}
        page
        skeleton={
          <Stack>
            <Skeleton h={70} />
            <Skeleton h={160} />
          </Stack>
        }
      >
        {({ group, weights, ...window }) => (
          <>
            <Decided state={group.state} projectId={projectId} now={now} />
            <p className={classes.message}>{exampleMessage(group)}</p>
            <p className={classes.where}>
              <KindIcon kind={group.step.kind} size={14} />{" "}
              {group.class !== "scored" && "Step with the error: "}
              {group.step.name || "unnamed"}
              {group.agent_name && ` in ${group.agent_name}`}
            </p>
            <FactList>
              <Fact label={`Runs, last ${readWindow(params).label}`} value={formatCount(group.count)} />
              <Fact
                label={signalOf(group.class) ? "Of all runs with signals" : "Of all failed runs"}
                value={formatPercent(group.share)}
              />
              <Fact
                label={group.agent_name ? "Of the agent's runs" : "Of the runs of this name"}
                value={`${formatPercent(group.agent_share)} of ${formatCount(group.agent_run_count)}`}
              />
              <Fact label="Users" value={group.user_count === null ? NONE : formatCount(group.user_count)} />
              <Fact label="Cost of these runs" value={formatCost(group.cost_usd)} />
              <Fact label="First seen" value={<Ago time={group.first_seen} now={now} />} />
              <Fact label="Last seen" value={<Ago time={group.last_seen} now={now} />} />
              <BeganIn projectId={projectId} group={group} />
            </FactList>
            <SampledNote totals={{ ...window, count: window.run_count }} />
            <section className={classes.section}>
              <h2>Over time</h2>
              <Sparkline counts={group.counts} wide />
            </section>
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
            {/* What follows is loaded by itself, and moves nothing above it. */}
            <section className={classes.section} aria-label="Findings">
              <h2>Findings</h2>
              <FindingsSection projectId={projectId} fingerprint={fingerprint} now={now} />
            </section>
            <Candidates
              projectId={projectId}
              fingerprint={fingerprint}
              filter={filter}
              typical={group.representative.run_id}
              mayReplay={mayReplay}
            />
            <AskModel projectId={projectId} fingerprint={fingerprint} />
            <div className={classes.pair}>
              <section className={classes.section}>
                <h2>What these runs have in common</h2>
                {group.contrasts.length === 0 ? (
                  <p className={classes.dim}>Nothing sets these runs apart.</p>
                ) : (
                  <DataTable
                    label="What these runs have in common"
                    columns={[
                      {
                        header: "Attribute",
                        cell: ({ attribute, value }) => (
                          <>
                            <span className={classes.dim}>{attribute.replace(/^metadata\./, "")}</span>{" "}
                            {value}
                          </>
                        ),
                      },
                      {
                        header: "These runs",
                        number: true,
                        cell: (contrast) => <Share part={contrast.with} whole={contrast.runs} />,
                      },
                      {
                        header: "Other runs",
                        number: true,
                        cell: (contrast) => (
                          <Share part={contrast.others_with} whole={contrast.others_runs} />
                        ),
                      },
                    ]}
                    rows={group.contrasts}
                    rowKey={({ attribute, value }) => `${attribute} ${value}`}
                  />
                )}
              </section>
              <section className={classes.section}>
                <h2>Why it ranks here</h2>
                <RankParts group={group} weights={weights} />
              </section>
            </div>
          </>
        )}
      </QueryState>
    </Page>
  );
}

/** Who resolved or muted the group, and the run that reopened it. */
function Decided({ state, projectId, now }: { state: FailureState; projectId: string; now: number }) {
  const text = stateText(state, now);
  if (text === null) return null;
  return (
    <p className={stateClasses.decided} data-testid="failure-state">
      {text}
      {state.decision?.note && (
        <>
          {" "}
          <bdi className={stateClasses.note}>“{state.decision.note}”</bdi>
        </>
      )}
      {state.regression && (
        <>
          {" "}
          <Link to={`/p/${projectId}/runs/${state.regression.run_id}`}>First run since</Link>
        </>
      )}
    </p>
  );
}

/** The run list's filters for the group. The list has no range of 90 days, and shows all times instead. */
function runsOf(params: URLSearchParams, fingerprint: string): URLSearchParams {
  const { value } = readWindow(params);
  return withTimeRange(withParam(params, "fingerprint", fingerprint), { preset: value });
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
          at {run.step.name || "unnamed"} · {formatDuration(run.duration_ms)}
        </span>
        <span className={classes.age}>
          <Ago time={run.start_time} now={now} />
        </span>
      </div>
      {run.error && (
        <p className={classes.error}>{[run.error.type, run.error.message].filter(Boolean).join(": ")}</p>
      )}
    </li>
  );
}

/** Where there is no room, the percentage takes a second line. */
function Share({ part, whole }: { part: number; whole: number }) {
  if (whole === 0) return "none";
  return (
    <span className={classes.share}>
      <span>
        {formatCount(part)} of {formatCount(whole)}
      </span>{" "}
      <span>({formatPercent(part / whole)})</span>
    </span>
  );
}
