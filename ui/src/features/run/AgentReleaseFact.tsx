import { Link } from "react-router";
import type { Run } from "@/api/types";
import { Fact } from "@/components/Fact";
import { UNKNOWN } from "@/components/format";

/** The release of the run's agent, which leads to all of them. */
export function AgentReleaseFact({ run }: { run: Run }) {
  const agent = run.agent_name || run.name;
  return (
    <Fact
      label="Agent release"
      testId="run-agent-release"
      value={
        <Link
          to={`/p/${run.project_id}/agents/${encodeURIComponent(agent)}`}
          title={
            run.agent_release === null
              ? "The first model call does not record its model and messages. See the releases of this agent."
              : "See the releases of this agent"
          }
        >
          {run.agent_release === null ? UNKNOWN : <code>{run.agent_release}</code>}
        </Link>
      }
    />
  );
}
