import { Center, Text } from "@mantine/core";
import { Navigate } from "react-router";
import { useMe } from "@/api/identity";
import { recallProject } from "@/components/useProject";

/** Leads to the project that was open last, or to the first. */
export function Home() {
  const projects = useMe().data?.projects ?? [];
  const last = recallProject();
  const project = projects.find((candidate) => candidate.id === last) ?? projects[0];
  if (project) return <Navigate to={`/p/${project.id}/runs`} replace />;
  return (
    <Center h="100%">
      <Text c="dimmed">No project is open to you. Ask an owner of your organization for access.</Text>
    </Center>
  );
}
