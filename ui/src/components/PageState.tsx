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
  /** The title if what it shows is deleted; by default "Eval-run not found". */
  titleWithout?: string;
  /** The page above, where the reader goes if there is no data. Escape does the same. */
  above: { label: string; to: string };
}

/** The query that a page is about. Without it, the page has a title, the error, and a way back. */
export function PageState<Data>({ title, titleWithout, above, ...state }: Props<Data>) {
  const { data, error, refetch } = state.query;
  if (data === undefined && error)
    return (
      <NoData
        title={title}
        titleWithout={titleWithout}
        above={above}
        error={error}
        onRetry={() => void refetch()}
      />
    );
  return <QueryState {...state} page />;
}

interface NoDataProps extends Pick<Props<unknown>, "title" | "titleWithout" | "above"> {
  error: Error;
  onRetry: () => void;
}

function NoData({ title, titleWithout, above, error, onRetry }: NoDataProps) {
  const navigate = useNavigate();
  const back = () => navigate(above.to);
  useKeys({ Escape: back });
  return (
    <PageProblem
      title={title}
      titleWithout={titleWithout}
      back={{ label: above.label, onClick: back }}
      error={error}
      onRetry={onRetry}
    />
  );
}

interface ProblemProps {
  /** What the page would show: "Run". */
  title: string;
  /** As of PageState. */
  titleWithout?: string;
  back: { label: string; onClick: () => void };
  error: Error;
  onRetry: () => void;
}

/** Instead of a page whose subject is deleted, or couldn't be read. */
export function PageProblem(props: ProblemProps) {
  const { title, titleWithout = `${title} not found`, back, error, onRetry } = props;
  const isMissing = error instanceof ApiError && error.status === 404;
  return (
    <Page title={isMissing ? titleWithout : title} back={back}>
      <PageMessage>
        <ProblemPanel error={error} onRetry={onRetry} />
      </PageMessage>
    </Page>
  );
}
