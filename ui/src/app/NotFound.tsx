import { Button } from "@mantine/core";
import { Link } from "react-router";
import { PageHint, PageMessage } from "@/components/PageMessage";

/** The page for an unknown address. */
export function NotFound() {
  return (
    <PageMessage>
      <title>Not found · Looptrace</title>
      <h1>Page not found</h1>
      <PageHint>This page doesn't exist, or it's in a project that you can't access.</PageHint>
      <Button component={Link} to="/" variant="default">
        Back to the runs
      </Button>
    </PageMessage>
  );
}
