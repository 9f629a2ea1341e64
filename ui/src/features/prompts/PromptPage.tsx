import { Badge, Menu } from "@mantine/core";
import { IconCopy, IconPencil, IconTrash } from "@tabler/icons-react";
import { useState } from "react";
import { useNavigate, useParams, useSearchParams } from "react-router";
import { usePrompt, useUpdatePrompt } from "@/api/prompts";
import type { Prompt } from "@/api/types";
import { DescriptionField } from "@/components/DescriptionField";
import { folderOf } from "@/components/editor/names";
import { FormDialog } from "@/components/FormDialog";
import { PageHeader } from "@/components/PageHeader";
import { PageState } from "@/components/PageState";
import { PageTabs } from "@/components/PageTabs";
import { SkeletonRows } from "@/components/QueryState";
import { DangerItem, RowMenu } from "@/components/RowMenu";
import { useBack } from "@/components/useBack";
import { allows, useProject, useProjectId } from "@/components/useProject";
import { AliasesTab } from "./AliasesTab";
import { CodeTab } from "./CodeTab";
import { readVersion } from "./comparison";
import { DeletePromptDialog } from "./DeletePromptDialog";
import { EditorTab } from "./EditorTab";
import { NewPromptDialog } from "./NewPromptDialog";
import classes from "./PromptPage.module.css";
import { TagsField } from "./TagsField";
import { UsageTab } from "./UsageTab";
import { VersionsTab } from "./VersionsTab";

/** One prompt: its content, versions, aliases and runs. */
export function PromptPage() {
  const projectId = useProjectId();
  const { promptId = "" } = useParams();
  const query = usePrompt(promptId);
  return (
    <PageState
      query={query}
      skeleton={<SkeletonRows count={8} height={40} />}
      title="Prompt"
      above={{ label: "Back to the prompts", to: `/p/${projectId}/prompts` }}
    >
      {(prompt) => <View key={prompt.id} prompt={prompt} />}
    </PageState>
  );
}

const TABS = ["versions", "aliases", "usage", "code"] as const;

type OpenDialog = "details" | "copy" | "delete";

function View({ prompt }: { prompt: Prompt }) {
  const projectId = useProjectId();
  const mayWrite = allows(useProject(), "prompts:write");
  const [params, setParams] = useSearchParams();
  const navigate = useNavigate();
  const back = useBack();
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const close = () => setDialog(null);
  const version = readVersion(params.get("version"));
  const tab = TABS.find((name) => name === params.get("tab")) ?? "content";
  const folder = folderOf(prompt.name);
  const list = `/p/${projectId}/prompts${folder === "" ? "" : `?${new URLSearchParams({ folder })}`}`;
  return (
    <div className={classes.page}>
      <PageHeader
        title={prompt.name}
        back={{ label: "Back to the prompts", onClick: back }}
        badges={prompt.tags.map((tag) => (
          <Badge key={tag} size="sm" variant="light" color="gray" c="var(--lt-text)" tt="none">
            {tag}
          </Badge>
        ))}
        context={prompt.description || undefined}
        actions={
          mayWrite && (
            <RowMenu name={prompt.name}>
              <Menu.Item leftSection={<IconPencil size={15} />} onClick={() => setDialog("details")}>
                Edit description and tags…
              </Menu.Item>
              <Menu.Item leftSection={<IconCopy size={15} />} onClick={() => setDialog("copy")}>
                Duplicate…
              </Menu.Item>
              <DangerItem icon={IconTrash} onClick={() => setDialog("delete")}>
                Delete…
              </DangerItem>
            </RowMenu>
          )
        }
      />
      <PageTabs
        label="Parts of the prompt"
        value={tab}
        onChange={(value) => setParams(value === "content" ? {} : { tab: value })}
        tabs={[
          {
            value: "content",
            label: mayWrite && version === null ? "Editor" : "Version",
            content: <EditorTab prompt={prompt} mayWrite={mayWrite} version={version} />,
          },
          { value: "versions", label: "Versions", content: <VersionsTab prompt={prompt} /> },
          {
            value: "aliases",
            label: "Aliases",
            content: <AliasesTab prompt={prompt} mayWrite={mayWrite} />,
          },
          { value: "usage", label: "Usage", content: <UsageTab prompt={prompt} /> },
          { value: "code", label: "Use in code", content: <CodeTab prompt={prompt} /> },
        ]}
      />
      {dialog === "details" && <DetailsDialog prompt={prompt} onClose={close} />}
      {dialog === "copy" && (
        <NewPromptDialog
          projectId={projectId}
          folder={folder}
          source={{ prompt, version: version ?? prompt.latest_version }}
          onClose={close}
        />
      )}
      {dialog === "delete" && (
        <DeletePromptDialog
          prompt={prompt}
          onClose={close}
          onDeleted={() => navigate(list, { replace: true })}
        />
      )}
    </div>
  );
}

function DetailsDialog({ prompt, onClose }: { prompt: Prompt; onClose: () => void }) {
  const update = useUpdatePrompt(prompt);
  const [description, setDescription] = useState(prompt.description);
  const [tags, setTags] = useState<string[]>(prompt.tags);
  return (
    <FormDialog
      title={prompt.name}
      action="Save"
      mutation={update}
      onSubmit={() => update.mutate({ description: description.trim(), tags }, { onSuccess: onClose })}
      onClose={onClose}
    >
      <DescriptionField data-autofocus value={description} onChange={setDescription} />
      <TagsField value={tags} onChange={setTags} />
    </FormDialog>
  );
}
