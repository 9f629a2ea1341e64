import { Center, Loader } from "@mantine/core";
import { Navigate, Outlet, useLocation } from "react-router";
import { useMe, useSetupState } from "@/api/identity";
import { Delayed } from "@/components/Delayed";
import { PageMessage } from "@/components/PageMessage";
import { ProblemPanel } from "@/components/ProblemPanel";

/** Shows its routes to users with a session. Others go to login, or to setup if there are no users yet. */
export function Gate() {
  const me = useMe();
  if (me.isPending) return <Loading />;
  if (me.isError && !me.data) return <Failed error={me.error} retry={() => me.refetch()} />;
  return me.data ? <Outlet /> : <Redirect />;
}

function Redirect() {
  const setup = useSetupState();
  const location = useLocation();
  if (setup.isPending) return <Loading />;
  if (setup.isError) return <Failed error={setup.error} retry={() => setup.refetch()} />;
  if (!setup.data.bootstrapped) return <Navigate to="/setup" replace />;
  const here = location.pathname + location.search;
  return <Navigate to={here === "/" ? "/login" : `/login?next=${encodeURIComponent(here)}`} replace />;
}

function Loading() {
  return (
    <Center h="100%">
      <Delayed>
        <Loader size="sm" aria-label="Loading" />
      </Delayed>
    </Center>
  );
}

function Failed({ error, retry }: { error: Error; retry: () => void }) {
  return (
    <PageMessage>
      <ProblemPanel error={error} onRetry={retry} />
    </PageMessage>
  );
}
