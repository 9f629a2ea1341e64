import { Center } from "@mantine/core";
import { useRouteError } from "react-router";
import { ProblemPanel } from "@/components/ProblemPanel";

/** A page that failed to load or to render. */
export function PageError() {
  const error = useRouteError();
  return (
    <Center h="100%" p="md">
      <ProblemPanel
        error={error instanceof Error ? error : new Error("This page failed")}
        onRetry={() => window.location.reload()}
      />
    </Center>
  );
}
