import { Button } from "@mantine/core";
import { Link, useNavigate } from "react-router";
import { useLoadSamples, useMe } from "@/api/identity";
import { ProblemPanel } from "./ProblemPanel";
import { isAtLeast } from "./roles";
import { useProject } from "./useProject";

interface Props {
  /** The page of the project that opens. */
  page?: "runs" | "datasets" | "eval-runs";
}

/** Loads samples into a project of the workspace and opens it, or opens the one that has them. */
export function LoadSamples({ page = "runs" }: Props) {
  const project = useProject();
  const load = useLoadSamples();
  const navigate = useNavigate();
  const loaded = useMe().data?.projects.find(
    (other) => other.sample && other.workspace_id === project?.workspace_id,
  );
  if (!project || loaded?.id === project.id) return null;
  if (loaded && !load.isPending)
    return (
      <Button component={Link} to={`/p/${loaded.id}/${page}`} variant="default">
        Open sample data
      </Button>
    );
  if (!isAtLeast(project.role, "admin")) return null;
  const submit = async () => {
    // mutateAsync waits for the list of projects, so that the next page finds the new one.
    const created = await load.mutateAsync(project.workspace_id).catch(() => null);
    if (created) navigate(`/p/${created.id}/${page}`);
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
