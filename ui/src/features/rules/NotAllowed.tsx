import { Button } from "@mantine/core";
import { Link } from "react-router";
import { Page } from "@/components/Page";
import { PageHint, PageMessage } from "@/components/PageMessage";

/** What a reader of the project sees instead of a form. */
export function NotAllowed({ title, back }: { title: string; back: string }) {
  return (
    <Page title={title}>
      <PageMessage title="You can't change rules.">
        <PageHint>
          Your role lacks the scope <code>evals:write</code>, needed because rules can cost money. Ask an
          admin of the workspace.
        </PageHint>
        <Button component={Link} to={back} variant="default">
          Back
        </Button>
      </PageMessage>
    </Page>
  );
}
