import { Link } from "react-router";
import { useFindings } from "@/api/findings";
import type { Run } from "@/api/types";
import { Fact } from "@/components/Fact";
import { allows, useProject } from "@/components/useProject";
import classes from "./RunHeader.module.css";

/** What is confirmed to be the cause of the failures that the run belongs to. */
export function RunFindings({ run: { project_id, run_id, failure } }: { run: Run }) {
  const mayRead = allows(useProject(), "replays:read");
  const { data } = useFindings(project_id, { run_id }, mayRead && failure !== null);
  const confirmed = data?.data.filter(({ status }) => status === "confirmed") ?? [];
  if (failure === null || confirmed.length === 0) return null;
  return (
    <Fact
      label={confirmed.length === 1 ? "Confirmed cause" : "Confirmed causes"}
      testId="run-findings"
      value={confirmed.map(({ id, candidate }) => (
        <Link
          key={id}
          to={`/p/${project_id}/failures/${encodeURIComponent(failure.fingerprint)}?range=90d`}
          className={classes.tag}
        >
          <bdi>{candidate.title}</bdi>
        </Link>
      ))}
    />
  );
}
