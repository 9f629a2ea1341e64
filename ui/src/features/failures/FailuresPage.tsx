import { ActionIcon, Button, SegmentedControl } from "@mantine/core";
import { IconDots } from "@tabler/icons-react";
import { useMemo } from "react";
import { Link } from "react-router";
import { useFailedRuns } from "@/api/failures";
import { useFindingsOfGroups } from "@/api/findings";
import type { FailedRunGroup, FailureDecision, FailureWeights } from "@/api/types";
import { Ago } from "@/components/Ago";
import { FilterBar } from "@/components/filters/FilterBar";
import {
  areFiltering,
  type Range,
  withoutFilters,
  withParam,
  withTimeRange,
} from "@/components/filters/filters";
import { SampledNote } from "@/components/filters/TimeNotes";
import { useKeptParams } from "@/components/filters/useKeptParams";
import { FindingStatusBadge } from "@/components/findings/FindingStatusBadge";
import { byFingerprint, causeText } from "@/components/findings/words";
import { formatCount, formatCountOf, formatRuns, isMissing, NONE } from "@/components/format";
import { KindIcon } from "@/components/KindIcon";
import { ListPage } from "@/components/ListPage";
import { PageHint } from "@/components/PageMessage";
import { useNow } from "@/components/useNow";
import { allows, useProject, useProjectId } from "@/components/useProject";
import classes from "./FailuresPage.module.css";
import {
  contrastText,
  exampleMessage,
  failureQuery,
  GROUPS,
  LONGEST,
  readFailureFilters,
  readGroups,
  readWindow,
  WINDOWS,
  whatFailed,
} from "./failures";
import { Rank } from "./Rank";
import { Sparkline } from "./Sparkline";
import { StateBadge } from "./StateBadge";
import { StateBar } from "./StateBar";
import { NoteDialog, StateMenu } from "./StateMenu";
import { leftOut, readState } from "./states";
import { useDecisions } from "./useDecisions";

/** Failed runs grouped by what failed, highest rank first. */
export function FailuresPage() {
  const projectId = useProjectId();
  const [params, setParams] = useKeptParams(projectId);
  const filters = useMemo(() => readFailureFilters(params), [params]);
  const filter = useMemo(() => failureQuery(projectId, params), [projectId, params]);
  const state = readState(params);
  const kind = readGroups(params);
  const query = useFailedRuns(useMemo(() => ({ ...filter, state, groups: kind }), [filter, state, kind]));
  const project = useProject();
  const mayDecide = allows(project, "runs:write");
  const pages = query.data?.pages.map(({ data }) => data.map(({ fingerprint }) => fingerprint)) ?? [];
  const findings = byFingerprint(
    useFindingsOfGroups(projectId, allows(project, "replays:read") ? pages : []),
  );
  const decisions = useDecisions(projectId, query.data?.pages.flatMap(({ data }) => data) ?? [], mayDecide);
  const now = useNow(10_000);
  const first = query.data?.pages[0];
  // There are groups in other states than the one that is listed.
  const hasOthers = first !== undefined && first.group_count > 0;
  const window = readWindow(params);
  const show = (value: Range) => setParams(withTimeRange(params, { preset: value }));
  return (
    <ListPage
      title="Failures"
      context={first ? summary(first) : "\u00a0"}
      tools={
        <FilterBar
          page="failures"
          filters={filters}
          params={params}
          onChange={setParams}
          timeRange={
            <SegmentedControl
              size="xs"
              aria-label="Time range"
              data={WINDOWS.map(({ value, label }) => ({ value, label }))}
              value={window.value}
              onChange={(value) => show(value as Range)}
            />
          }
        />
      }
      query={query}
      what="failures"
      rowHeight={64}
      emptyTitle={hasOthers ? `No ${state} failures.` : `No failures in the last ${window.label}.`}
      emptyHint={
        hasOthers ? (
          <>
            {state === "open" && <PageHint>{leftOut(first.state_counts)}.</PageHint>}
            <Button variant="default" onClick={() => setParams(withParam(params, "state", "all"))}>
              Show all
            </Button>
          </>
        ) : (
          <>
            <PageHint>Similar failures are grouped here, with what they have in common.</PageHint>
            {window !== LONGEST && (
              <Button variant="default" onClick={() => show(LONGEST.value)}>
                Show the last {LONGEST.label}
              </Button>
            )}
          </>
        )
      }
      onClearFilters={
        areFiltering(filters) && !hasOthers ? () => setParams(withoutFilters(params)) : undefined
      }
      banner={
        <>
          <div className={classes.groups}>
            <SegmentedControl
              size="xs"
              aria-label="Groups"
              data={[...GROUPS]}
              value={kind}
              onChange={(next) => setParams(withParam(params, "groups", next === "all" ? null : next))}
            />
            <span className={classes.dim}>
              {first && `${formatRuns(first.signal_run_count)} with signals. They don't count as failed.`}
            </span>
          </div>
          <StateBar
            state={state}
            counts={first?.state_counts}
            onState={(next) => setParams(withParam(params, "state", next === "open" ? null : next))}
            decisions={decisions}
          />
          {first && (
            <div className={classes.sampled}>
              <SampledNote totals={{ ...first, count: first.run_count }} />
            </div>
          )}
          {first?.partial && (
            <p className={classes.note} role="status">
              Only the highest ranked groups are shown.
            </p>
          )}
          {decisions.noting && (
            <NoteDialog
              mutation={decisions.mutation}
              onResolve={(note) => decisions.resolveWithNote(note)}
              onClose={() => decisions.note(null)}
            />
          )}
        </>
      }
    >
      {(groups) => (
        <ul>
          {first &&
            groups.map((group) => (
              <Row
                key={group.fingerprint}
                group={group}
                weights={first.weights}
                to={`/p/${projectId}/failures/${encodeURIComponent(group.fingerprint)}?${params}`}
                now={now}
                onDecide={mayDecide ? (decision) => decisions.decide(group, decision) : undefined}
                onNote={() => decisions.note(group)}
                cause={causeText(findings.get(group.fingerprint) ?? [])}
              />
            ))}
        </ul>
      )}
    </ListPage>
  );
}

function summary(page: { failed_run_count: number; run_count: number; group_count: number }): string {
  if (page.group_count === 0) return "No failures";
  const groups = formatCountOf(page.group_count, "group");
  return `${formatCount(page.failed_run_count)} of ${formatRuns(page.run_count)} failed · ${groups}`;
}

interface RowProps {
  group: FailedRunGroup;
  weights: FailureWeights;
  to: string;
  now: number;
  /** Absent for those who only read. */
  onDecide?: (decision: FailureDecision) => void;
  onNote: () => void;
  /** What is known of the cause. */
  cause: ReturnType<typeof causeText>;
}

function Row({ group, weights, to, now, onDecide, onNote, cause }: RowProps) {
  const why = group.contrasts[0];
  const message = exampleMessage(group);
  return (
    <li className={classes.row} data-testid="failure-group" data-fingerprint={group.fingerprint}>
      <div className={classes.what}>
        <div className={classes.title}>
          <Link to={to} className={classes.link} data-row-focus>
            {whatFailed(group)}
          </Link>
          <StateBadge state={group.state} />
          {cause && <FindingStatusBadge {...cause} />}
        </div>
        <p className={classes.message} title={message}>
          {message}
        </p>
        <p className={classes.where}>
          <KindIcon kind={group.step.kind} size={13} />
          <span>{group.step.name || "unnamed"}</span>
          {group.agent_name && <span>in {group.agent_name}</span>}
          {why && (
            <span className={classes.why} title={group.contrasts.map(contrastText).join("\n")}>
              {contrastText(why)}
            </span>
          )}
        </p>
      </div>
      <div className={classes.spark}>
        <Sparkline counts={group.counts} />
      </div>
      <Figure label={group.count === 1 ? "run" : "runs"} text={formatCount(group.count)} />
      <Figure
        label={group.user_count === 1 ? "user" : "users"}
        text={group.user_count === null ? NONE : formatCount(group.user_count)}
      />
      <div className={classes.ages}>
        <Ago time={group.last_seen} now={now} />
        <span className={classes.dim}>
          First seen <Ago time={group.first_seen} now={now} />
        </span>
      </div>
      <Rank group={group} weights={weights} />
      {onDecide && (
        <StateMenu state={group.state} onDecide={onDecide} onResolveWithNote={onNote}>
          <ActionIcon
            className={classes.menu}
            variant="subtle"
            color="gray"
            size="sm"
            aria-label={`Resolve or mute ${whatFailed(group)}`}
          >
            <IconDots size={16} />
          </ActionIcon>
        </StateMenu>
      )}
    </li>
  );
}

function Figure({ label, text }: { label: string; text: string }) {
  return (
    <div className={classes.figure}>
      <span data-missing={isMissing(text) || undefined}>{text}</span>
      <span className={classes.dim}>{label}</span>
    </div>
  );
}
