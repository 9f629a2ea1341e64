import { Button } from "@mantine/core";
import { Link } from "react-router";
import { Page } from "./Page";
import { PageHint, PageMessage } from "./PageMessage";
import { allows, useProject, useProjectId } from "./useProject";

/** The page in place of one that needs a provider, before there is one. */
export function NoProvider({ title }: { title: string }) {
  const projectId = useProjectId();
  const mayManage = allows(useProject(), "admin");
  return (
    <Page title={title}>
      <PageMessage title="No provider connected yet.">
        <PageHint>
          {mayManage
            ? "Connect OpenAI, Anthropic, or your own server. The key stays on the Looptrace server."
            : "Ask an admin of the workspace to connect a provider."}
        </PageHint>
        {mayManage && (
          <Button component={Link} to={`/p/${projectId}/settings/providers`}>
            Add a connection
          </Button>
        )}
      </PageMessage>
    </Page>
  );
}
