import { Button, Title } from "@mantine/core";
import { Link } from "react-router";
import { PageHint, PageMessage } from "@/components/PageMessage";

/** The page for an unknown address. */
export function NotFound() {
  return (
    <PageMessage>
      <title>Not found · Looptrace</title>
      <Title order={1} size="h3">
        Page not found
      </Title>
      <PageHint>This page doesn't exist, or it's in a project that you can't access.</PageHint>
      <Button component={Link} to="/" variant="default">
        Back to the runs
      </Button>
    </PageMessage>
  );
}
