import { Navigate, Outlet, useLocation } from "react-router";
import { useMe, useSetupState } from "@/api/identity";
import { PageMessage } from "@/components/PageMessage";
import { ProblemPanel } from "@/components/ProblemPanel";
import { useLastingError } from "@/components/useLastingError";
import { Loading } from "./Loading";

/** Shows its routes to users with a session. Others go to login, or to setup if there are no users yet. */
export function Gate() {
  const me = useMe();
  const error = useLastingError(me);
  if (error) return <Failed error={error} retry={() => me.refetch()} />;
  if (me.isPending) return <Loading />;
  return me.data ? <Outlet /> : <Redirect />;
}

function Redirect() {
  const setup = useSetupState();
  const location = useLocation();
  const error = useLastingError(setup);
  if (error) return <Failed error={error} retry={() => setup.refetch()} />;
  if (!setup.data) return <Loading />;
  if (!setup.data.bootstrapped) return <Navigate to="/setup" replace />;
  const here = location.pathname + location.search;
  return <Navigate to={here === "/" ? "/login" : `/login?next=${encodeURIComponent(here)}`} replace />;
}

function Failed({ error, retry }: { error: Error; retry: () => void }) {
  return (
    <PageMessage>
      <ProblemPanel error={error} onRetry={retry} />
    </PageMessage>
  );
}
