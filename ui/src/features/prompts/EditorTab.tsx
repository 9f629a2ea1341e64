import { Alert, Button, Group, Text } from "@mantine/core";
import { IconPencil } from "@tabler/icons-react";
import { useState } from "react";
import { useSearchParams } from "react-router";
import { useMe } from "@/api/identity";
import { usePromptVersion } from "@/api/prompts";
import type { Prompt, PromptVersion } from "@/api/types";
import { Ago } from "@/components/Ago";
import { authorName } from "@/components/author";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { draftOf } from "@/components/editor/draft";
import classes from "@/components/editor/Editor.module.css";
import { PageHint, PageMessage } from "@/components/PageMessage";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { useNow } from "@/components/useNow";
import { Editor } from "./Editor";
import { draftKey, readStored, writeStored } from "./storedDraft";
import { VersionView } from "./VersionView";

interface Props {
  prompt: Prompt;
  mayWrite: boolean;
  /** The version in the address; null for the latest. */
  version: number | null;
}

/** A version to read, or the draft of the next one. */
export function EditorTab({ prompt, mayWrite, version }: Props) {
  const userId = useMe().data?.user?.id ?? "";
  const storageKey = draftKey(userId, prompt.project_id, prompt.id);
  if (mayWrite && version === null) return <Draft prompt={prompt} storageKey={storageKey} />;
  const shown = version ?? prompt.latest_version;
  if (shown === null) {
    return (
      <PageMessage title="No version yet.">
        <PageHint>Your role doesn't include editing prompts.</PageHint>
      </PageMessage>
    );
  }
  return <Reader key={shown} prompt={prompt} version={shown} mayWrite={mayWrite} storageKey={storageKey} />;
}

function Draft({ prompt, storageKey }: { prompt: Prompt; storageKey: string }) {
  // The prompt gets new versions while the editor is open.
  const [stored] = useState(() => readStored(storageKey));
  const [from] = useState(() => (stored ? stored.from : (prompt.latest_version ?? 0)));
  const query = usePromptVersion(prompt.id, from === 0 ? null : from);
  if (from === 0) return <Editor prompt={prompt} source={null} stored={stored} storageKey={storageKey} />;
  return (
    <QueryState query={query} skeleton={<SkeletonRows count={5} height={60} />} page>
      {(source) => <Editor prompt={prompt} source={source} stored={stored} storageKey={storageKey} />}
    </QueryState>
  );
}

interface ReaderProps {
  prompt: Prompt;
  version: number;
  mayWrite: boolean;
  storageKey: string;
}

function Reader({ prompt, version: number, mayWrite, storageKey }: ReaderProps) {
  const query = usePromptVersion(prompt.id, number);
  return (
    <QueryState query={query} skeleton={<SkeletonRows count={5} height={60} />} page>
      {(version) => (
        <>
          <ReaderBar prompt={prompt} version={version} mayWrite={mayWrite} storageKey={storageKey} />
          <VersionView version={version} />
        </>
      )}
    </QueryState>
  );
}

interface ReaderBarProps {
  prompt: Prompt;
  version: PromptVersion;
  mayWrite: boolean;
  storageKey: string;
}

function ReaderBar({ prompt, version, mayWrite, storageKey }: ReaderBarProps) {
  const [, setParams] = useSearchParams();
  const [isAsking, setAsking] = useState(false);
  const now = useNow(30_000);
  const latest = prompt.latest_version ?? version.version;
  const edit = () => {
    // The draft starts with the content of this version and becomes the one after the latest.
    writeStored(storageKey, {
      savedAt: new Date().toISOString(),
      base: latest,
      from: version.version,
      draft: draftOf(version),
    });
    setParams({});
  };
  return (
    <div className={classes.bar}>
      <div className={classes.state}>
        <Group gap={6}>
          <strong>v{version.version}</strong>
          <span>
            {version.version === latest ? "the latest" : `the latest is v${latest}`} · saved by{" "}
            {authorName(version.created_by)} <Ago time={version.created_at} now={now} />
          </span>
        </Group>
        {version.note !== "" && (
          <Text size="xs" c="var(--lt-text)">
            {version.note}
          </Text>
        )}
      </div>
      {mayWrite && (
        <Button
          variant="default"
          leftSection={<IconPencil size={14} />}
          onClick={() => (readStored(storageKey) ? setAsking(true) : edit())}
        >
          Edit as new version
        </Button>
      )}
      {isAsking && (
        <ConfirmDialog
          title="Replace your draft?"
          action="Replace draft"
          closeLabel="Keep the draft"
          mutation={{ isPending: false, error: null }}
          onClose={() => setAsking(false)}
          onConfirm={edit}
        >
          <Alert variant="light" color="yellow" p="xs" c="var(--lt-text)">
            You have an unsaved draft of this prompt. Editing v{version.version} replaces it.
          </Alert>
        </ConfirmDialog>
      )}
    </div>
  );
}
