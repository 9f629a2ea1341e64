import { Alert, Button, Group } from "@mantine/core";
import { useHotkeys } from "@mantine/hooks";
import { IconInfoCircle, IconPlayerPlay, IconPlayerStop, IconPlus, IconScale } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useRef, useState } from "react";
import { useNavigate } from "react-router";
import { useLoadVersion } from "@/api/prompts";
import { keys } from "@/api/queryKeys";
import type { NotRestored, Provider } from "@/api/types";
import { newComparisonPath } from "@/components/comparisonStart";
import { newId } from "@/components/editor/draft";
import { PageHeader } from "@/components/PageHeader";
import { ProblemPanel } from "@/components/ProblemPanel";
import type { PromptChoice } from "@/components/PromptPicker";
import { allows, useProject } from "@/components/useProject";
import type { Answer, Turn } from "./answer";
import { BatchNotice, BatchResultDialog } from "./BatchView";
import { useBatches } from "./batches";
import { ColumnDialog } from "./ColumnDialog";
import { type ColumnAction, ColumnPanel } from "./ColumnPanel";
import { comparisonOf } from "./comparison";
import { type Fix, fixesOf } from "./fixes";
import { useLiveAnswers, useRunning } from "./live";
import { scenarioOf, withScenario } from "./opened";
import classes from "./Playground.module.css";
import {
  emptyPlay,
  MAX_COLUMNS,
  newColumn,
  type Play,
  type PlayColumn,
  prepare,
  settingOf,
  versionKey,
} from "./play";
import { Scenarios } from "./Scenarios";
import { NotRestoredNotice, SourcePanel } from "./SourcePanel";
import { useColumns } from "./useColumns";

interface Props {
  projectId: string;
  /** See playKey. */
  owner: string;
  providers: readonly Provider[];
  play: Play;
  onPlay: (change: (play: Play) => Play) => void;
  /** False if the browser couldn't keep the draft. */
  isKept: boolean;
  /** What couldn't be restored from a run. */
  notRestored: readonly NotRestored[];
  onSeen: () => void;
  /** Goes back to what was here before a run was opened. */
  onUndo?: () => void;
}

/** Messages and 1 to 4 models that answer them side by side. */
export function Playground(props: Props) {
  const { projectId, owner, providers, play, onPlay, isKept, notRestored, onSeen, onUndo } = props;
  const project = useProject();
  const mayRun = allows(project, "completions:write");
  const mayWrite = allows(project, "prompts:write");
  const may = { saveVersion: mayWrite, addItem: allows(project, "datasets:write") };
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const live = useLiveAnswers(() => {
    void queryClient.invalidateQueries({ queryKey: keys.providers.list(projectId) });
  });
  const running = useRunning(live);
  const loadVersion = useLoadVersion();
  const columns = useColumns(projectId, play);
  const answers = useRef<HTMLElement>(null);
  const batches = useBatches(owner);
  const [shownBatch, setShownBatch] = useState<string | null>(null);
  const batch = batches.find(({ id }) => id === shownBatch);
  const [dialog, setDialog] = useState<{ action: ColumnAction; column: number } | null>(null);

  const run = (index: number) => {
    const column = play.columns[index];
    const draft = columns.prepared[index]?.draft;
    if (mayRun && column && draft) live.start(column.id, { ...draft, thread_id: threadId(column.id) });
  };
  const ready = columns.prepared.flatMap(({ draft }, index) => (draft ? [index] : []));
  const runAll = () => {
    if (dialog !== null || batch) return;
    for (const index of ready) run(index);
    // Below the messages, answers would begin out of sight.
    if (window.matchMedia("(max-width: 62em)").matches) answers.current?.scrollIntoView({ block: "start" });
  };
  const stop = () => {
    // Escape closes a dialog first.
    if (document.querySelector("[role=dialog]") === null) live.stopAll();
  };
  useHotkeys(
    [
      ["mod+Enter", runAll],
      ["Escape", stop, { preventDefault: false }],
    ],
    [],
    true,
  );
  const resume = (index: number, answer: Answer, results: Extract<Turn, { kind: "tool" }>[]) => {
    const column = play.columns[index];
    if (!column) return;
    const typed = results.map(({ callId, content }) => ({ role: "tool", tool_call_id: callId, content }));
    const following = [...answer.following, ...typed];
    const { draft } = prepare(projectId, play, column, columns.versions, { following });
    if (draft) live.resume(column.id, { ...draft, thread_id: threadId(column.id) }, results);
  };
  const changeColumn = useCallback(
    (changed: PlayColumn) =>
      onPlay((before) => ({
        ...before,
        columns: before.columns.map((column) => (column.id === changed.id ? changed : column)),
      })),
    [onPlay],
  );
  const addColumn = (column: PlayColumn) =>
    onPlay((before) =>
      before.columns.length >= MAX_COLUMNS ? before : { ...before, columns: [...before.columns, column] },
    );
  const removeColumn = (id: string) => {
    live.forget(id);
    onPlay((before) => ({ ...before, columns: before.columns.filter((column) => column.id !== id) }));
  };
  const suggestion = (tool: string) => {
    const { policy, content, recorded } = settingOf(play, tool);
    return policy === "fixed" ? content : (recorded[0]?.content ?? "");
  };
  const comparison = allows(project, "evals:write") ? comparisonOf(play, columns.sources) : null;
  const [firstSource] = columns.sources;
  const firstValues = columns.prepared[0]?.values;
  return (
    <div className={classes.page}>
      <PageHeader
        title="Playground"
        actions={
          <>
            {allows(project, "prompts:read") && (
              <Scenarios
                projectId={projectId}
                current={play.scenario}
                content={firstSource ? scenarioOf(play, firstSource, firstValues?.variables ?? {}) : null}
                mayWrite={mayWrite}
                onLoad={({ id, name, content }) =>
                  onPlay((before) => withScenario(before, { id, name }, content))
                }
                onCurrent={(scenario) => onPlay((before) => ({ ...before, scenario }))}
              />
            )}
            <Button
              size="compact-sm"
              variant="default"
              onClick={() => {
                for (const { id } of play.columns) live.forget(id);
                onPlay((before) => ({
                  ...emptyPlay(),
                  columns: before.columns.map((column) => ({ ...column, prompt: null })),
                }));
              }}
            >
              Clear
            </Button>
            <Button
              size="compact-sm"
              variant="default"
              leftSection={<IconPlus size={13} />}
              disabled={play.columns.length >= MAX_COLUMNS}
              onClick={() => addColumn(newColumn())}
            >
              Column
            </Button>
            {comparison && (
              <Button
                size="compact-sm"
                variant="default"
                leftSection={<IconScale size={13} />}
                onClick={() => void navigate(newComparisonPath(projectId), { state: comparison })}
                title="Compare the first two columns over a dataset"
              >
                Compare
              </Button>
            )}
            {running > 0 ? (
              <Button
                size="compact-sm"
                variant="default"
                leftSection={<IconPlayerStop size={13} />}
                onClick={() => live.stopAll()}
                title="Escape"
              >
                Stop all
              </Button>
            ) : (
              <Button
                size="compact-sm"
                leftSection={<IconPlayerPlay size={13} />}
                disabled={!mayRun || ready.length === 0}
                onClick={runAll}
                title="Ctrl+Enter or ⌘Enter"
              >
                {play.columns.length === 1 ? "Run" : "Run all"}
              </Button>
            )}
          </>
        }
      />
      <div className={classes.notices}>
        {!mayRun && (
          <Alert variant="light" color="gray" p="xs" c="var(--lt-text)" icon={<IconInfoCircle size={16} />}>
            You can't run models here: your role lacks the scope <code>completions:write</code>, because calls
            cost money. Ask an admin of the workspace.
          </Alert>
        )}
        {!isKept && (
          <Alert variant="light" color="yellow" p="xs" c="var(--lt-text)" icon={<IconInfoCircle size={16} />}>
            This browser can't keep the draft, so reloading the page loses it. Large images may be the cause.
          </Alert>
        )}
        {notRestored.length > 0 && <NotRestoredNotice items={notRestored} onClose={onSeen} />}
        {onUndo && (
          <Group gap="xs">
            <span className={classes.note}>Opened from a run. It replaced what was here.</span>
            <Button size="compact-xs" variant="default" onClick={onUndo}>
              Undo
            </Button>
          </Group>
        )}
        {columns.error && <ProblemPanel error={columns.error} />}
        {batches.map((one) => (
          <BatchNotice key={one.id} batch={one} onShow={() => setShownBatch(one.id)} />
        ))}
      </div>
      <div className={classes.body}>
        <section
          className={classes.shared}
          aria-label="Messages and tools of all columns"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
          tabIndex={0}
        >
          <SourcePanel
            projectId={projectId}
            play={play}
            onChange={onPlay}
            loadVersion={loadVersion}
            version={play.prompt ? columns.versions.get(versionKey(play.prompt)) : undefined}
            variables={columns.variables}
            placeholders={columns.placeholders}
            tools={columns.tools}
            valueErrors={columns.valueErrors}
            errors={columns.errors[0] ?? []}
          />
        </section>
        <section
          ref={answers}
          className={classes.columns}
          aria-label="Columns"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
          tabIndex={0}
        >
          {play.columns.map((column, index) => (
            <ColumnPanel
              key={column.id}
              projectId={projectId}
              number={index + 1}
              column={column}
              providers={providers}
              prepared={columns.prepared[index] as (typeof columns.prepared)[number]}
              source={columns.sources[index]}
              promptModel={columns.promptModels[index]}
              errors={columns.errors[index] ?? []}
              live={live}
              mayRun={mayRun}
              may={may}
              suggestion={suggestion}
              onChange={changeColumn}
              onPrompt={(choice: PromptChoice | null) => changeColumn({ ...column, prompt: choice })}
              onRun={() => run(index)}
              onResults={(answer, results) => resume(index, answer, results)}
              fixes={(error) => fixesOf(error, play, column, columns.sources[index])}
              onFix={(fix: Fix) => onPlay(fix.change)}
              onAction={(action) => setDialog({ action, column: index })}
              onDuplicate={
                play.columns.length < MAX_COLUMNS ? () => addColumn({ ...column, id: newId() }) : undefined
              }
              onRemove={play.columns.length > 1 ? () => removeColumn(column.id) : undefined}
            />
          ))}
        </section>
      </div>
      {dialog && (
        <ColumnDialog
          projectId={projectId}
          owner={owner}
          play={play}
          columns={columns}
          index={dialog.column}
          action={dialog.action}
          answer={live.get(play.columns[dialog.column]?.id ?? "")}
          onClose={() => setDialog(null)}
        />
      )}
      {batch && <BatchResultDialog projectId={projectId} batch={batch} onClose={() => setShownBatch(null)} />}
    </div>
  );
}

/** Runs of one column in one visit belong together. */
const visit = crypto.randomUUID();

function threadId(column: string): string {
  return `playground-${visit}-${column}`;
}
