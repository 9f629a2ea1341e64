import { Link } from "react-router";
import type { AgentComparison, AgentFigure, AgentRelease } from "@/api/types";
import { Ago } from "@/components/Ago";
import { type Column, DataTable } from "@/components/DataTable";
import {
  formatCost,
  formatCount,
  formatDuration,
  formatPercent,
  formatRuns,
  NONE,
} from "@/components/format";
import { useNow } from "@/components/useNow";
import classes from "./AgentPage.module.css";
import { figureText, releaseLabel, verdictText } from "./releases";

interface Props {
  projectId: string;
  releases: readonly AgentRelease[];
}

/** How the runs of each release did, with what differs from the release before. */
export function ReleaseTable({ projectId, releases }: Props) {
  const now = useNow(60_000);
  const scores = [...new Set(releases.flatMap((release) => release.scores.map(({ name }) => name)))].sort();
  const columns: Column<AgentRelease>[] = [
    {
      header: "Release",
      cell: (release) =>
        release.agent_release === null ? (
          releaseLabel(release)
        ) : (
          <Link to={`/p/${projectId}/runs?agent_release=${release.agent_release}&range=all`}>
            <code>{release.agent_release}</code>
          </Link>
        ),
    },
    {
      header: "First run",
      cell: ({ first_run: run }) => <Started projectId={projectId} run={run} now={now} />,
    },
    {
      header: "Last run",
      cell: ({ last_run: run }) => <Started projectId={projectId} run={run} now={now} />,
    },
    { header: "Runs", number: true, cell: (release) => formatCount(release.run_count) },
    {
      header: "Failed",
      number: true,
      title: ({ failures }) => `Of ${formatRuns(failures.count)} that ended, with the 95% interval`,
      cell: ({ failures, difference }) => (
        <Figure figure={failures} format={formatPercent} comparison={difference?.failures} />
      ),
    },
    {
      header: "Median duration",
      number: true,
      title: ({ duration_ms: duration }) => `Of ${formatRuns(duration.count)}, with the 95% interval`,
      cell: ({ duration_ms: duration, difference }) => (
        <Figure figure={duration} format={formatDuration} comparison={difference?.duration_ms} />
      ),
    },
    {
      header: "Median cost",
      number: true,
      title: ({ cost_usd: cost }) =>
        `Of ${formatRuns(cost.count)} whose cost is known, with the 95% interval`,
      cell: ({ cost_usd: cost, difference }) => (
        <Figure figure={cost} format={formatCost} comparison={difference?.cost_usd} />
      ),
    },
    ...scores.map((name): Column<AgentRelease> => {
      const scoreOf = (release: AgentRelease) => release.scores.find((score) => score.name === name);
      return {
        header: name,
        number: true,
        title: (release) => {
          const score = scoreOf(release);
          return score && `Mean of ${formatRuns(score.count)}, with the 95% interval`;
        },
        cell: (release) => {
          const score = scoreOf(release);
          if (!score) return NONE;
          return (
            <Figure
              figure={score}
              format={score.boolean ? formatPercent : (value) => String(Number(value.toFixed(3)))}
              comparison={release.difference?.scores.find((one) => one.name === name)?.difference}
            />
          );
        },
      };
    }),
  ];
  return (
    <DataTable
      label="Releases"
      columns={columns}
      rows={releases}
      rowKey={({ first_run: run }) => run.run_id}
      rowProps={({ agent_release: release }) => ({
        "data-testid": "agent-release",
        "data-release": release ?? "",
      })}
      stacks
    />
  );
}

interface StartedProps {
  projectId: string;
  run: AgentRelease["first_run"];
  now: number;
}

function Started({ projectId, run, now }: StartedProps) {
  return (
    <Link to={`/p/${projectId}/runs/${run.run_id}`}>
      <Ago time={run.start_time} now={now} />
    </Link>
  );
}

interface FigureProps {
  figure: AgentFigure;
  format: (value: number) => string;
  /** To the release before. */
  comparison: AgentComparison | undefined;
}

function Figure({ figure, format, comparison }: FigureProps) {
  return (
    <>
      {figureText(figure, format)}
      {comparison && figure.value !== null && (
        <span className={classes.verdict} title="Compared with the release before">
          {verdictText(comparison)}
        </span>
      )}
    </>
  );
}
