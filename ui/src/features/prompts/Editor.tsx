import { Alert, Button, Checkbox, Select, Stack, TextInput } from "@mantine/core";
import { useHotkeys } from "@mantine/hooks";
import { IconInfoCircle } from "@tabler/icons-react";
import { useMemo, useState } from "react";
import { Link } from "react-router";
import { ApiError } from "@/api/problem";
import { NO_ALIAS, useMoveAlias, useSaveVersion } from "@/api/prompts";
import type { Prompt, PromptVersion } from "@/api/types";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import {
  type Draft,
  draftOf,
  emptyDraft,
  isSameContent,
  readDraft,
  variableRows,
} from "@/components/editor/draft";
import classes from "@/components/editor/Editor.module.css";
import { MessagesEditor, PlainNote } from "@/components/editor/MessagesEditor";
import { ModelParameters } from "@/components/editor/ModelParameters";
import { ResponseFormatEditor } from "@/components/editor/ResponseFormatEditor";
import { ToolsEditor } from "@/components/editor/ToolsEditor";
import { ProblemPanel } from "@/components/ProblemPanel";
import { scan } from "@/components/template";
import { allows, useProject } from "@/components/useProject";
import { ConflictDialog } from "./ConflictDialog";
import { EditorState, type Saved, SavedNotice } from "./EditorState";
import { Preview } from "./Preview";
import type { StoredDraft } from "./storedDraft";
import { useKeptDraft } from "./useKeptDraft";
import { VariablesEditor } from "./VariablesEditor";

interface Props {
  prompt: Prompt;
  /** The version that the draft starts with; null without one. */
  source: PromptVersion | null;
  stored: StoredDraft | null;
  /** Where the browser keeps the draft. */
  storageKey: string;
}

/** Edits a draft and saves it as a new version. The browser keeps the draft until then. */
export function Editor({ prompt, source: opened, stored, storageKey }: Props) {
  const project = useProject();
  const isAdmin = allows(project, "admin");
  const save = useSaveVersion(prompt);
  const move = useMoveAlias(prompt);
  const latest = prompt.latest_version ?? 0;
  const [source, setSource] = useState(opened);
  const [base, setBase] = useState(stored?.base ?? latest);
  const [draft, setDraft] = useState<Draft>(
    () => stored?.draft ?? (opened === null ? emptyDraft() : draftOf(opened)),
  );
  const [alias, setAlias] = useState<string | null>(null);
  const [saved, setSaved] = useState<Saved | null>(null);
  const [dialog, setDialog] = useState<"discard" | "conflict" | null>(null);

  const original = useMemo(() => (source === null ? emptyDraft() : draftOf(source)), [source]);
  const isModified = useMemo(() => !isSameContent(draft, original), [draft, original]);
  const { content, errors } = useMemo(() => readDraft(draft), [draft]);
  const rows = useMemo(() => variableRows(draft), [draft]);
  const names = useMemo(() => rows.map(({ name }) => name), [rows]);
  const hasSyntaxError = useMemo(
    () =>
      draft.format === "mustache" &&
      draft.messages.some((message) => message.kind === "text" && scan(message.text).error !== null),
    [draft],
  );

  const isWorth = isModified || draft.note !== "";
  const { keptAt, cannotKeep } = useKeptDraft(storageKey, isWorth, {
    savedAt: stored?.savedAt ?? null,
    base,
    from: source?.version ?? 0,
    draft,
  });

  const change = (changed: Partial<Draft>) => {
    setSaved(null);
    if (save.isError) save.reset();
    setDraft((before) => ({ ...before, ...changed }));
  };
  const startWith = (version: PromptVersion) => {
    setSource(version);
    setBase(version.version);
    setDraft(draftOf(version));
  };
  const submit = async (onBase: number) => {
    const note = draft.note.trim();
    try {
      const { version, isNew } = await save.mutateAsync({ ...content, note, base_version: onBase });
      setDialog(null);
      setSource(version);
      setBase(isNew ? version.version : latest);
      setDraft((before) => ({ ...before, note: "" }));
      setSaved({ version: version.version, isNew, ...(await moveAlias(version.version)) });
      setAlias(null);
    } catch (error) {
      if (error instanceof ApiError && error.problem?.code === "stale_base_version") setDialog("conflict");
    }
  };
  const moveAlias = async (version: number): Promise<Partial<Saved>> => {
    if (alias === null) return {};
    const known = prompt.aliases.find((one) => one.alias === alias);
    try {
      const moved = await move.mutateAsync({ alias, version, etag: known?.etag ?? NO_ALIAS });
      return { moved: { alias, from: moved.previous_version } };
    } catch (error) {
      return { error: error as Error };
    }
  };
  const maySave = (isModified || latest === 0) && errors.length === 0 && !hasSyntaxError && !save.isPending;
  const submitByKey = () => {
    if (maySave && dialog === null) void submit(base);
  };
  useHotkeys(
    [
      ["mod+S", submitByKey],
      ["mod+Enter", submitByKey],
    ],
    [],
    true,
  );

  const isStale = latest > base;
  const next = latest + 1;
  return (
    <>
      <div className={classes.bar} data-testid="editor-bar">
        <div className={classes.state} role="status">
          <EditorState
            isModified={isWorth}
            keptAt={keptAt}
            cannotKeep={cannotKeep}
            source={source?.version ?? 0}
            latest={latest}
          />
          {isWorth && (
            <>
              {" · "}
              <Button size="compact-xs" variant="subtle" color="gray" onClick={() => setDialog("discard")}>
                Discard
              </Button>
            </>
          )}
        </div>
        <TextInput
          size="xs"
          flex="2 1 180px"
          maw={420}
          aria-label="Note"
          placeholder="What changed (optional)"
          maxLength={2000}
          value={draft.note}
          onChange={(event) => change({ note: event.currentTarget.value })}
        />
        <Select
          size="xs"
          w={170}
          aria-label="Move an alias to the new version"
          placeholder="Move no alias"
          data={prompt.aliases.map((one) => ({
            value: one.alias,
            label: one.protected && !isAdmin ? `${one.alias} (protected)` : `Move ${one.alias} to it`,
            disabled: one.protected && !isAdmin,
          }))}
          value={alias}
          onChange={setAlias}
          clearable
          disabled={prompt.aliases.length === 0}
        />
        <Button
          loading={save.isPending}
          disabled={!maySave}
          onClick={() => void submit(base)}
          title="Ctrl+S or ⌘S"
        >
          Save v{next}
        </Button>
      </div>
      <div className={classes.notices} role="status">
        {saved && <SavedNotice saved={saved} prompt={prompt} />}
        {isStale && !saved && (
          <Alert variant="light" color="yellow" p="xs" icon={<IconInfoCircle size={16} />} c="var(--lt-text)">
            v{latest} was saved meanwhile. {isModified ? "Your draft is" : "You see what is"} based on{" "}
            {base === 0 ? "no version" : `v${base}`}.{" "}
            {isModified ? (
              <Button size="compact-xs" variant="default" onClick={() => setDialog("conflict")}>
                Compare
              </Button>
            ) : (
              <Button size="compact-xs" variant="default" component={Link} to={`?version=${latest}`}>
                Show v{latest}
              </Button>
            )}
          </Alert>
        )}
        {save.error && dialog !== "conflict" && !isConflict(save.error) && (
          <ProblemPanel error={save.error} />
        )}
      </div>
      <div className={classes.columns}>
        <div>
          <section className={classes.section} aria-label="Messages">
            <h2>Messages</h2>
            <Stack gap="xs">
              <PlainNote format={draft.format} />
              <MessagesEditor
                messages={draft.messages}
                format={draft.format}
                variables={names}
                errors={errors}
                onChange={(messages) => change({ messages })}
              />
            </Stack>
          </section>
          {draft.format === "mustache" && (
            <section className={classes.section}>
              <h2>Variables</h2>
              <VariablesEditor
                rows={rows}
                variables={draft.variables}
                errors={errors}
                onChange={(variables) => change({ variables })}
              />
            </section>
          )}
          <section className={classes.section} aria-label="Model settings">
            <h2>Model</h2>
            <ModelParameters
              model={draft.model}
              tools={draft.tools}
              errors={errors}
              onChange={(model) => change({ model })}
            >
              <TextInput
                size="xs"
                label="Model"
                placeholder="gpt-4o-mini"
                maxLength={200}
                value={draft.model.model}
                onChange={(event) => change({ model: { ...draft.model, model: event.currentTarget.value } })}
              />
            </ModelParameters>
          </section>
          <section className={classes.section} aria-label="Tools">
            <h2>Tools</h2>
            <ToolsEditor tools={draft.tools} errors={errors} onChange={(tools) => change({ tools })} />
          </section>
          <section className={classes.section} aria-label="Response format">
            <h2>Response format</h2>
            <ResponseFormatEditor
              value={draft.responseFormat}
              error={errors.find(({ at }) => at === "response_format")?.message}
              onChange={(responseFormat) => change({ responseFormat })}
            />
          </section>
          <section className={classes.section} aria-label="Advanced">
            <h2>Advanced</h2>
            <Advanced draft={draft} onChange={change} />
          </section>
        </div>
        <section className={`${classes.section} ${classes.preview}`} aria-label="Preview">
          <h2>Preview</h2>
          <Preview
            projectId={prompt.project_id}
            content={content}
            isBroken={errors.length > 0}
            variables={rows.filter(({ isUsed }) => isUsed)}
          />
        </section>
      </div>
      {dialog === "discard" && (
        <ConfirmDialog
          title="Discard the draft?"
          action="Discard draft"
          closeLabel="Keep editing"
          mutation={{ isPending: false, error: null }}
          onClose={() => setDialog(null)}
          onConfirm={() => {
            setDraft(original);
            setDialog(null);
          }}
        >
          Your changes since {source === null ? "the start" : `v${source.version}`} are lost. Saved versions
          stay.
        </ConfirmDialog>
      )}
      {dialog === "conflict" && (
        <ConflictDialog
          prompt={prompt}
          content={content}
          saving={save}
          onClose={() => setDialog(null)}
          onSave={(newest) => void submit(newest)}
          onTake={(version) => {
            startWith(version);
            setDialog(null);
          }}
        />
      )}
    </>
  );
}

function isConflict(error: Error): boolean {
  return error instanceof ApiError && error.problem?.code === "stale_base_version";
}

interface AdvancedProps {
  draft: Draft;
  onChange: (changed: Partial<Draft>) => void;
}

function Advanced({ draft, onChange }: AdvancedProps) {
  return (
    <Checkbox
      size="xs"
      label="Messages are templates"
      description="Turn it off for texts with {{ that is no variable. Placeholders are still replaced."
      checked={draft.format === "mustache"}
      onChange={(event) => onChange({ format: event.currentTarget.checked ? "mustache" : "none" })}
    />
  );
}
