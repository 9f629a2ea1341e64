import { Text, VisuallyHidden } from "@mantine/core";
import { useMemo } from "react";
import { Link, useSearchParams } from "react-router";
import { usePromptUsage } from "@/api/prompts";
import type { Prompt, PromptUsage, PromptVersionUsage } from "@/api/types";
import { type Column, DataTable } from "@/components/DataTable";
import { areTimed, type Filters, type Range, readFilters, withTimeRange } from "@/components/filters/filters";
import { SampledNote } from "@/components/filters/TimeNotes";
import { TimeRange } from "@/components/filters/TimeRange";
import {
  formatCost,
  formatCount,
  formatDuration,
  formatPercent,
  formatRuns,
  formatTime,
  formatTokens,
  NONE,
  UNKNOWN,
} from "@/components/format";
import { PageHint, PageMessage } from "@/components/PageMessage";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import classes from "./PromptPage.module.css";
import { versionLabel, windowOf } from "./usage";

/** The range of an address without one. */
const DEFAULT_RANGE: Range = "30d";

/** How the runs that used a prompt did, by version. */
export function UsageTab({ prompt }: { prompt: Prompt }) {
  const [params, setParams] = useSearchParams();
  const filters = useMemo(() => {
    const chosen = readFilters(params, DEFAULT_RANGE);
    // The server looks no further back by itself, and so all time is the default.
    return areTimed(chosen) ? chosen : { ...chosen, range: DEFAULT_RANGE };
  }, [params]);
  // A relative range is fixed when it is chosen, so that the query stays the same.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the filters change only with the address
  const window = useMemo(() => windowOf(filters, Date.now()), [params.toString()]);
  const query = usePromptUsage(prompt.id, window);
  return (
    <div className={classes.body}>
      <div className={classes.range}>
        <TimeRange filters={filters} params={params} onChange={setParams} />
      </div>
      <QueryState query={query} skeleton={<SkeletonRows count={3} height={30} />}>
        {(usage) =>
          usage.versions.length === 0 ? (
            <PageMessage title="No runs in this period.">
              <PageHint>
                Runs appear here when their spans name the prompt, or send its system message word for word.
                The code is under <Link to="?tab=code">Use in code</Link>.
              </PageHint>
            </PageMessage>
          ) : (
            <>
              {usage.partial && (
                <Text size="sm" c="dimmed" mb="xs" role="status">
                  Only includes runs since {formatTime(usage.start)}: counting earlier runs would take too
                  long. Choose a shorter time range to see them.
                </Text>
              )}
              <SampledNote totals={usage.total} />
              <UsageTable prompt={prompt} usage={usage} filters={filters} />
              {usage.other && (
                <Text size="sm" c="dimmed" mt="xs">
                  {formatCount(usage.other.versions)} other versions had{" "}
                  {formatRuns(usage.other.totals.count)}.
                </Text>
              )}
            </>
          )
        }
      </QueryState>
    </div>
  );
}

interface TableProps {
  prompt: Prompt;
  usage: PromptUsage;
  filters: Filters;
}

function UsageTable({ prompt, usage, filters }: TableProps) {
  const scores = [
    ...new Set(usage.versions.flatMap((version) => version.scores.map(({ name }) => name))),
  ].sort();
  const columns: Column<PromptVersionUsage>[] = [
    {
      header: "Version",
      cell: (version) => (
        <>
          {version.exists && version.version !== null ? (
            <Link to={`?version=${version.version}`}>{versionLabel(version)}</Link>
          ) : (
            versionLabel(version)
          )}
          {!version.exists && version.version !== null && (
            <span className={classes.dim}> not a version of this prompt</span>
          )}
        </>
      ),
    },
    {
      header: "Runs",
      number: true,
      title: ({ linked_by_content: linked }) =>
        linked > 0 ? `${formatRuns(linked)} linked by the text of the system message` : undefined,
      cell: ({ totals }) => formatCount(totals.count),
    },
    {
      header: "Failed",
      number: true,
      title: ({ totals }) =>
        `${formatCount(totals.error_count)} of ${formatRuns(totals.ended_count)} that ended`,
      cell: ({ totals: { error_rate: rate } }) => (rate === null ? UNKNOWN : formatPercent(rate)),
    },
    { header: "Duration, p95", number: true, cell: ({ totals }) => formatDuration(totals.duration_ms?.p95) },
    {
      header: "Tokens",
      number: true,
      title: ({ totals }) =>
        totals.no_usage_count > 0
          ? `Excludes ${formatRuns(totals.no_usage_count)} of unknown tokens`
          : undefined,
      cell: ({ totals }) => formatTokens(totals.usage?.total_tokens),
    },
    {
      header: "Cost",
      number: true,
      title: () => "Of whole runs, not only of the calls with this prompt",
      cell: ({ totals, unpriced_call_count: unpriced }) => (
        <>
          {formatCost(totals.cost_usd)}
          {unpriced > 0 && <span className={classes.dim}> + {formatCount(unpriced)} unpriced</span>}
        </>
      ),
    },
    ...scores.map(
      (name): Column<PromptVersionUsage> => ({
        header: name,
        number: true,
        title: (version) => {
          const score = version.scores.find((one) => one.name === name);
          return score && `Mean of ${formatCount(score.count)}`;
        },
        cell: (version) => {
          const score = version.scores.find((one) => one.name === name);
          if (!score) return NONE;
          return (
            <>
              {score.boolean ? formatPercent(score.mean) : String(Number(score.mean.toFixed(3)))}
              <span className={classes.dim}> n={formatCount(score.count)}</span>
            </>
          );
        },
      }),
    ),
    {
      header: "Runs of this version",
      hideHeader: true,
      cell: (version) => (
        <Link to={runsOf(prompt, version, filters)}>
          View runs<VisuallyHidden> of {versionLabel(version)}</VisuallyHidden>
        </Link>
      ),
    },
  ];
  return (
    <DataTable
      label="Usage by version"
      columns={columns}
      rows={usage.versions}
      rowKey={({ version }) => version ?? ""}
      rowProps={({ version }) => ({ "data-testid": "usage-row", "data-version": version ?? "" })}
    />
  );
}

/** The list of runs with the same time range. Runs that are linked by content don't name the prompt. */
function runsOf(prompt: Prompt, { version }: PromptVersionUsage, filters: Filters): string {
  const filter = new URLSearchParams({ prompt_name: prompt.name });
  if (version !== null) filter.set("prompt_version", version);
  const { range, start_after: after, start_before: before } = filters;
  return `/p/${prompt.project_id}/runs?${withTimeRange(filter, { preset: range, after, before })}`;
}
