import { Navigate } from "react-router";
import { useMe } from "@/api/identity";
import { PageHint, PageMessage } from "@/components/PageMessage";
import { recallProject } from "@/components/useProject";

/** Opens the last project, or the first. */
export function Home() {
  const projects = useMe().data?.projects ?? [];
  const last = recallProject();
  const project = projects.find((candidate) => candidate.id === last) ?? projects[0];
  if (project) return <Navigate to={`/p/${project.id}/runs`} replace />;
  return (
    <PageMessage title="You don't have access to any project.">
      <PageHint>Ask an owner of your organization for access.</PageHint>
    </PageMessage>
  );
}
