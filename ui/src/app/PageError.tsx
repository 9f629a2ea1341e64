import { useRouteError } from "react-router";
import { PageMessage } from "@/components/PageMessage";
import { ProblemPanel } from "@/components/ProblemPanel";

/** Replaces a page that failed to load or render. */
export function PageError() {
  const error = useRouteError();
  return (
    <PageMessage>
      <ProblemPanel
        error={error instanceof Error ? error : new Error("This page failed")}
        onRetry={() => window.location.reload()}
      />
    </PageMessage>
  );
}
