import { Page } from "./Page";
import { PageHint, PageMessage } from "./PageMessage";
import { withArticle } from "./roles";
import { useProject } from "./useProject";

interface Props {
  /** The title of the page. */
  title: string;
  /** What admins do there: "manage keys". */
  act: string;
}

/** Replaces a page that only admins can use. */
export function NeedsAdmin({ title, act }: Props) {
  const project = useProject();
  return (
    <Page title={title}>
      <PageMessage title={`Only admins and owners can ${act}.`}>
        {project?.role && (
          <PageHint>
            You are {withArticle(project.role)} in the workspace {project.workspace_name}. Ask an admin for
            the role.
          </PageHint>
        )}
      </PageMessage>
    </Page>
  );
}
