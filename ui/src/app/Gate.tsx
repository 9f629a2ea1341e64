import { Center, Loader } from "@mantine/core";
import { Navigate, Outlet, useLocation } from "react-router";
import { useMe, useSetupState } from "@/api/identity";
import { Delayed } from "@/components/Delayed";
import { ProblemPanel } from "@/components/ProblemPanel";

/** Lets in who has a session; others go to login, or to setup where nobody exists yet. */
export function Gate() {
  const me = useMe();
  if (me.isPending) return <Waiting />;
  if (me.isError && !me.data) return <Failed error={me.error} retry={() => me.refetch()} />;
  return me.data ? <Outlet /> : <ToEntrance />;
}

function ToEntrance() {
  const setup = useSetupState();
  const location = useLocation();
  if (setup.isPending) return <Waiting />;
  if (setup.isError) return <Failed error={setup.error} retry={() => setup.refetch()} />;
  if (!setup.data.bootstrapped) return <Navigate to="/setup" replace />;
  const here = location.pathname + location.search;
  return <Navigate to={here === "/" ? "/login" : `/login?next=${encodeURIComponent(here)}`} replace />;
}

function Waiting() {
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
    <Center h="100%" p="md">
      <ProblemPanel error={error} onRetry={retry} />
    </Center>
  );
}
