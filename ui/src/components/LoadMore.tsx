import { Button } from "@mantine/core";
import classes from "./ListPage.module.css";

interface Props {
  query: {
    hasNextPage: boolean;
    isFetchingNextPage: boolean;
    isFetchNextPageError: boolean;
    fetchNextPage: () => unknown;
  };
  /** What it loads, in the plural: "keys". */
  what: string;
}

/** Loads the next page of a list, as long as there is one. */
export function LoadMore({ query, what }: Props) {
  if (!query.hasNextPage) return null;
  return (
    <div className={classes.more}>
      <Button variant="default" loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
        {query.isFetchNextPageError ? `Couldn't load more ${what}. Retry` : `Load more ${what}`}
      </Button>
    </div>
  );
}
