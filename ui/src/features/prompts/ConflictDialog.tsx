import { Button, Group, Skeleton, Stack, Text } from "@mantine/core";
import { useEffect, useState } from "react";
import { usePrompt, usePromptVersion } from "@/api/prompts";
import type { Prompt, PromptVersion, PromptVersionCreate } from "@/api/types";
import { authorName } from "@/components/author";
import { Changes } from "@/components/Changes";
import { Dialog } from "@/components/Dialog";
import { draftOf, readDraft } from "@/components/editor/draft";
import { ProblemPanel } from "@/components/ProblemPanel";
import { QueryState } from "@/components/QueryState";
import { changesBetween } from "./changes";

interface Props {
  prompt: Prompt;
  /** Of the draft. */
  content: PromptVersionCreate;
  saving: { isPending: boolean; error: Error | null };
  onClose: () => void;
  /** Saves the draft on top of the newest version. */
  onSave: (newest: number) => void;
  /** Edits the newest version instead. */
  onTake: (newest: PromptVersion) => void;
}

/** Someone saved another version while the draft was edited. */
export function ConflictDialog({ prompt, content, saving, onClose, onSave, onTake }: Props) {
  // The page knows the prompt from before the conflict.
  const { data: current, refetch } = usePrompt(prompt.id);
  const [isFresh, setFresh] = useState(false);
  useEffect(() => {
    void refetch().then(() => setFresh(true));
  }, [refetch]);
  const newest = isFresh ? (current?.latest_version ?? prompt.latest_version) : null;
  const query = usePromptVersion(prompt.id, newest);
  return (
    <Dialog
      onClose={onClose}
      title={`${newest === null ? "Another version" : `v${newest}`} was saved meanwhile`}
      size="xl"
    >
      <QueryState query={query} skeleton={<Skeleton h={200} />}>
        {(version) => (
          <Stack gap="md">
            <Text size="sm">
              {authorName(version.created_by)} saved v{version.version}
              {version.note === "" ? "" : ` (“${version.note}”)`} after you began. Saving now makes your draft
              v{version.version + 1}, without the changes of v{version.version}.
            </Text>
            <Changes
              changes={changesBetween(readDraft(draftOf(version)).content, content)}
              before={`v${version.version}`}
              after="your draft"
            />
            {saving.error && <SavingError error={saving.error} />}
            <Group justify="flex-end">
              <Button variant="subtle" color="gray" onClick={() => onTake(version)}>
                Discard draft, edit v{version.version}
              </Button>
              <Button variant="default" onClick={onClose} data-autofocus>
                Keep editing
              </Button>
              <Button loading={saving.isPending} onClick={() => onSave(version.version)}>
                Save anyway on top of v{version.version}
              </Button>
            </Group>
          </Stack>
        )}
      </QueryState>
    </Dialog>
  );
}

/** A conflict is what the dialog already says. */
function SavingError({ error }: { error: Error }) {
  return "status" in error && error.status === 409 ? null : <ProblemPanel error={error} />;
}
