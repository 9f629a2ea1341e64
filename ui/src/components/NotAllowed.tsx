import { Button } from "@mantine/core";
import { Link } from "react-router";
import { Page } from "./Page";
import { PageHint, PageMessage } from "./PageMessage";

interface Props {
  title: string;
  /** What they can't do: "start comparisons". */
  action: string;
  scope: "evals:write" | "replays:write";
  /** Why it needs the scope: "comparisons cost money". */
  reason: string;
  back: { label: string; to: string };
}

/** What a reader of the project sees instead of a form. */
export function NotAllowed({ title, action, scope, reason, back }: Props) {
  return (
    <Page title={title}>
      <PageMessage title={`You can't ${action}.`}>
        <PageHint>
          Your role lacks the scope <code>{scope}</code>, needed because {reason}. Ask an admin of the
          workspace.
        </PageHint>
        <Button component={Link} to={back.to} variant="default">
          {back.label}
        </Button>
      </PageMessage>
    </Page>
  );
}
