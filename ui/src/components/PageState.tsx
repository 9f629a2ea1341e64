import { useNavigate } from "react-router";
import { ApiError } from "@/api/problem";
import { Page } from "./Page";
import { PageMessage } from "./PageMessage";
import { ProblemPanel } from "./ProblemPanel";
import { QueryState } from "./QueryState";
import { useKeys } from "./useKeys";

interface Props<Data> extends Omit<React.ComponentProps<typeof QueryState<Data>>, "page"> {
  /** What the page shows: "Eval-run". The data has a title of its own. */
  title: string;
  /** The page above, where the reader goes if there is no data. Escape does the same. */
  above: { label: string; to: string };
}

/** The query that a page is about. Without it, the page has a title, the error, and a way back. */
export function PageState<Data>({ title, above, ...state }: Props<Data>) {
  const { data, error, refetch } = state.query;
  if (data === undefined && error)
    return <NoData title={title} above={above} error={error} onRetry={() => void refetch()} />;
  return <QueryState {...state} page />;
}

interface NoDataProps extends Pick<Props<unknown>, "title" | "above"> {
  error: Error;
  onRetry: () => void;
}

function NoData({ title, above, error, onRetry }: NoDataProps) {
  const navigate = useNavigate();
  const back = () => navigate(above.to);
  useKeys({ Escape: back });
  return (
    <PageProblem title={title} back={{ label: above.label, onClick: back }} error={error} onRetry={onRetry} />
  );
}

interface ProblemProps {
  /** What the page would show: "Run". */
  title: string;
  back: { label: string; onClick: () => void };
  error: Error;
  onRetry: () => void;
}

/** Instead of a page whose subject is deleted, or couldn't be read. */
export function PageProblem({ title, back, error, onRetry }: ProblemProps) {
  const isMissing = error instanceof ApiError && error.status === 404;
  return (
    <Page title={isMissing ? `${title} not found` : title} back={back}>
      <PageMessage>
        <ProblemPanel error={error} onRetry={onRetry} />
      </PageMessage>
    </Page>
  );
}
