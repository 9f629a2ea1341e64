import { Button } from "@mantine/core";
import { Link, useNavigate } from "react-router";
import { useLoadSamples, useMe } from "@/api/identity";
import { ProblemPanel } from "@/components/ProblemPanel";
import { isAtLeast } from "@/components/roles";
import { useProject } from "@/components/useProject";

/** Loads samples into a project of the workspace and opens it, or opens the one that has them. */
export function LoadSamples() {
  const project = useProject();
  const load = useLoadSamples();
  const navigate = useNavigate();
  const loaded = useMe().data?.projects.find(
    (other) => other.sample && other.workspace_id === project?.workspace_id,
  );
  if (!project || loaded?.id === project.id) return null;
  if (loaded && !load.isPending)
    return (
      <Button component={Link} to={`/p/${loaded.id}/runs`} variant="default">
        Open sample data
      </Button>
    );
  if (!isAtLeast(project.role, "admin")) return null;
  const submit = async () => {
    // mutateAsync waits for the list of projects, so that the next page finds the new one.
    const created = await load.mutateAsync(project.workspace_id).catch(() => null);
    if (created) navigate(`/p/${created.id}/runs`);
  };
  return (
    <>
      <Button variant="default" loading={load.isPending} onClick={() => void submit()}>
        Load sample data
      </Button>
      {load.isError && <ProblemPanel error={load.error} onRetry={() => void submit()} />}
    </>
  );
}
