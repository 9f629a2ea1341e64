import { Link } from "react-router";
import type { FailedRunGroup } from "@/api/types";
import { Fact } from "@/components/Fact";

/** The release of the agent in which a group began. */
export function BeganIn({ projectId, group }: { projectId: string; group: FailedRunGroup }) {
  const { began_in: beginning, agent_name: agent } = group;
  if (beginning === null) return null;
  const release = <code>{beginning.agent_release}</code>;
  return (
    <Fact
      label="Began in release"
      testId="began-in"
      value={
        agent ? (
          <Link to={`/p/${projectId}/agents/${encodeURIComponent(agent)}`}>{release}</Link>
        ) : (
          <Link to={`/p/${projectId}/runs/${beginning.run_id}`}>{release}</Link>
        )
      }
    />
  );
}
