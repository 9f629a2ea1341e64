import { Group, Select, Text } from "@mantine/core";
import { IconRobot } from "@tabler/icons-react";
import { useMemo } from "react";
import { Link, useNavigate, useParams, useSearchParams } from "react-router";
import { useAgentReleases, useAgents } from "@/api/agents";
import type { AgentReleases } from "@/api/types";
import { areTimed, RANGES, type Range, readFilters } from "@/components/filters/filters";
import { TimeRange } from "@/components/filters/TimeRange";
import { formatCount, formatCountOf, formatRuns } from "@/components/format";
import { Page } from "@/components/Page";
import { PageHint, PageMessage } from "@/components/PageMessage";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { useKeys } from "@/components/useKeys";
import { useProjectId } from "@/components/useProject";
import { ReleaseChanges } from "./ReleaseChanges";
import { ReleaseTable } from "./ReleaseTable";

/** The range of an address without one. */
const DEFAULT_RANGE: Range = "90d";

/** The releases of an agent: what changed, and how its runs did in each. */
export function AgentPage() {
  const projectId = useProjectId();
  const { agent = "" } = useParams();
  const [params, setParams] = useSearchParams();
  const navigate = useNavigate();
  const back = () => navigate(`/p/${projectId}/runs`);
  useKeys({ Escape: back });
  const filters = useMemo(() => {
    const chosen = readFilters(params, DEFAULT_RANGE);
    // The server looks no further back by itself.
    return areTimed(chosen) ? chosen : { ...chosen, range: DEFAULT_RANGE };
  }, [params]);
  // A relative range is fixed when it is chosen, so that the query stays the same.
  const window = useMemo(
    () => ({
      ...(filters.range && {
        start_after: new Date(Date.now() - RANGES[filters.range] * 1000).toISOString(),
      }),
      ...(filters.start_after && { start_after: filters.start_after }),
      ...(filters.start_before && { start_before: filters.start_before }),
    }),
    [filters],
  );
  const chosen = params.get("instructions");
  const instructions = chosen === "compared" || chosen === "ignored" ? chosen : undefined;
  const query = useAgentReleases(projectId, agent, window, instructions);
  const agents = useAgents(projectId).data?.data.map((one) => one.agent) ?? [];
  const withInstructions = (value: string) => {
    const next = new URLSearchParams(params);
    next.set("instructions", value);
    return `?${next}`;
  };
  return (
    <Page
      title={agent}
      back={{ label: "Back to the runs", onClick: back }}
      icon={<IconRobot size={18} stroke={1.7} aria-hidden="true" />}
      tools={
        <Group gap="sm">
          <TimeRange filters={filters} params={params} onChange={setParams} />
          <Select
            size="xs"
            aria-label="Agent"
            searchable
            allowDeselect={false}
            value={agent}
            data={agents.includes(agent) ? agents : [agent, ...agents]}
            onChange={(next) =>
              next &&
              navigate({
                pathname: `/p/${projectId}/agents/${encodeURIComponent(next)}`,
                search: `${params}`,
              })
            }
          />
        </Group>
      }
    >
      <QueryState query={query} page skeleton={<SkeletonRows count={4} height={40} />}>
        {(answer) =>
          answer.run_count === 0 ? (
            <PageMessage title="No runs in this period.">
              <PageHint>Choose a longer time range to see older releases.</PageHint>
            </PageMessage>
          ) : (
            <>
              <Summary answer={answer} withInstructions={withInstructions} />
              {answer.releases.length > 0 && (
                <>
                  <ReleaseTable projectId={projectId} releases={answer.releases} />
                  <ReleaseChanges projectId={projectId} releases={answer.releases} />
                </>
              )}
            </>
          )
        }
      </QueryState>
    </Page>
  );
}

interface SummaryProps {
  answer: AgentReleases;
  withInstructions: (value: string) => string;
}

function Summary({ answer, withInstructions }: SummaryProps) {
  const known = answer.run_count - answer.without_release_count;
  return (
    <Text size="sm" mb="sm" data-testid="agent-summary">
      {formatCountOf(answer.release_count, "release")} in {formatRuns(known)}.{" "}
      {answer.instructions === "ignored" && (
        <>
          {formatCount(answer.instructions_count)} different instructions: releases are compared without them.{" "}
          <Link to={withInstructions("compared")}>Compare with instructions</Link>{" "}
        </>
      )}
      {answer.instructions === "compared" && answer.instructions_count > 1 && (
        <>
          <Link to={withInstructions("ignored")}>Ignore the instructions</Link>{" "}
        </>
      )}
      {answer.without_release_count > 0 &&
        `The release of ${formatRuns(answer.without_release_count)} is unknown: their first model call does not record its model and messages, or they are older than Looptrace's search for releases. `}
      {answer.partial && `Only the newest ${formatRuns(answer.run_count)} of this period are counted. `}
      {answer.release_count > answer.releases.length &&
        `The newest ${formatCountOf(answer.releases.length, "release")} are listed.`}
    </Text>
  );
}
