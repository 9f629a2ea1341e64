import { Alert, Button, Checkbox, Group, Select, Stack, TextInput } from "@mantine/core";
import { Fragment, useMemo } from "react";
import type { PromptVersion } from "@/api/types";
import { type Draft, type DraftError, type DraftVariable, draftOf } from "@/components/editor/draft";
import editor from "@/components/editor/Editor.module.css";
import { MessageList } from "@/components/editor/MessageList";
import { MessagesEditor } from "@/components/editor/MessagesEditor";
import { ResponseFormatEditor } from "@/components/editor/ResponseFormatEditor";
import { ToolsEditor } from "@/components/editor/ToolsEditor";
import { ValueFields } from "@/components/editor/ValueFields";
import { type PromptChoice, PromptPicker } from "@/components/PromptPicker";
import { withOwnMessages, withPrompt } from "./opened";
import classes from "./Playground.module.css";
import { type Play, settingOf, type ToolPolicy, type ToolSetting } from "./play";

interface Props {
  projectId: string;
  play: Play;
  onChange: (change: (play: Play) => Play) => void;
  /** Loads a version of a prompt. */
  loadVersion: (choice: PromptChoice) => Promise<PromptVersion>;
  /** The version of the shared prompt; undefined while it loads, or without one. */
  version: PromptVersion | undefined;
  variables: readonly DraftVariable[];
  placeholders: readonly string[];
  /** The names of the tools of all columns. */
  tools: readonly string[];
  valueErrors: Record<string, string>;
  errors: readonly DraftError[];
}

/** What all columns share: prompt or messages, values, tools and limits. */
export function SourcePanel(props: Props) {
  const { projectId, play, onChange, loadVersion, version, variables, placeholders, tools, errors } = props;
  const set = (changed: Partial<Play>) => onChange((before) => ({ ...before, ...changed }));
  const names = useMemo(() => variables.map(({ name }) => name), [variables]);
  const choosePrompt = async (choice: PromptChoice | null) => {
    if (choice === null) {
      set({ prompt: null, tools: play.tools ?? [], responseFormat: play.responseFormat ?? "" });
      return;
    }
    // Until the version is loaded, the columns say that it isn't.
    set({ prompt: choice, tools: null, responseFormat: null });
    const loaded = await loadVersion(choice).catch(() => null);
    if (loaded)
      onChange((before) => (isSame(before.prompt, choice) ? withPrompt(before, choice, loaded) : before));
  };
  const inherited: Draft | null = useMemo(() => (version ? draftOf(version) : null), [version]);
  const isOwnTools = play.prompt === null || play.tools !== null;
  const isOwnFormat = play.prompt === null || play.responseFormat !== null;
  return (
    <div className={classes.source}>
      <section className={editor.section} aria-label="Messages">
        <h2>Messages</h2>
        <Stack gap="xs">
          <PromptPicker
            projectId={projectId}
            value={play.prompt}
            onChange={(choice) => void choosePrompt(choice)}
            label="Prompt for all columns"
            placeholder="Own messages, or choose a prompt"
          />
          {play.prompt === null ? (
            <>
              <MessagesEditor
                messages={play.messages}
                format={play.format}
                variables={names}
                errors={errors}
                takesFiles
                onChange={(messages) => set({ messages })}
              />
              <Checkbox
                size="xs"
                label="Messages are templates"
                checked={play.format === "mustache"}
                onChange={(event) => set({ format: event.currentTarget.checked ? "mustache" : "none" })}
              />
            </>
          ) : (
            version && (
              <>
                <MessageList
                  messages={version.messages}
                  isTemplate={version.template_format === "mustache"}
                />
                <div>
                  <Button
                    size="compact-sm"
                    variant="default"
                    onClick={() => onChange((before) => withOwnMessages(before, version))}
                  >
                    Edit here
                  </Button>
                </div>
              </>
            )
          )}
        </Stack>
      </section>
      {variables.length + placeholders.length > 0 && (
        <section className={editor.section} aria-label="Variables">
          <h2>Variables</h2>
          <ValueFields
            variables={variables}
            placeholders={placeholders}
            texts={play.texts}
            lists={play.lists}
            errors={props.valueErrors}
            onText={(name, text) =>
              onChange((before) => ({ ...before, texts: { ...before.texts, [name]: text } }))
            }
            onList={(name, text) =>
              onChange((before) => ({ ...before, lists: { ...before.lists, [name]: text } }))
            }
          />
        </section>
      )}
      <section className={editor.section} aria-label="Tools">
        <h2>Tools</h2>
        {isOwnTools ? (
          <ToolsEditor
            tools={play.tools ?? []}
            errors={errors}
            onChange={(changed) => set({ tools: changed })}
          />
        ) : (
          <Inherited
            text={
              tools.length === 0 ? (
                "The prompt has none."
              ) : (
                <>
                  From the prompt:{" "}
                  {tools.map((name, index) => (
                    <Fragment key={name}>
                      {index > 0 && ", "}
                      <bdi>{name}</bdi>
                    </Fragment>
                  ))}
                  .
                </>
              )
            }
            what="tools"
            disabled={!inherited}
            onOwn={() => set({ tools: inherited?.tools ?? [] })}
          />
        )}
        {tools.map((name) => (
          <ToolAnswering
            key={name}
            name={name}
            setting={settingOf(play, name)}
            onChange={(setting) =>
              onChange((before) => ({
                ...before,
                toolSettings: { ...before.toolSettings, [name]: setting },
              }))
            }
          />
        ))}
      </section>
      <section className={editor.section} aria-label="Response format">
        <h2>Response format</h2>
        {isOwnFormat ? (
          <ResponseFormatEditor
            value={play.responseFormat ?? ""}
            error={errors.find(({ at }) => at === "response_format")?.message}
            onChange={(responseFormat) => set({ responseFormat })}
          />
        ) : (
          <Inherited
            text={inherited?.responseFormat ? "Uses the prompt's." : "The prompt has none."}
            what="response format"
            disabled={!inherited}
            onOwn={() => set({ responseFormat: inherited?.responseFormat ?? "" })}
          />
        )}
      </section>
      <section className={editor.section} aria-label="Limits">
        <h2>Limits</h2>
        <Group gap="xs" grow align="flex-start">
          <TextInput
            size="xs"
            label="Rounds"
            description="Most model calls"
            inputMode="numeric"
            maxLength={2}
            value={play.maxRounds}
            onChange={(event) => set({ maxRounds: event.currentTarget.value })}
          />
          <TextInput
            size="xs"
            label="Cost ($)"
            description="Most per column"
            placeholder="no limit"
            inputMode="decimal"
            maxLength={12}
            value={play.maxCost}
            onChange={(event) => set({ maxCost: event.currentTarget.value })}
          />
        </Group>
        {(play.maxCost !== "" || play.allowUnpriced) && (
          <Checkbox
            mt="xs"
            size="xs"
            label="Allow models without a price"
            checked={play.allowUnpriced}
            onChange={(event) => set({ allowUnpriced: event.currentTarget.checked })}
          />
        )}
      </section>
    </div>
  );
}

function isSame(a: PromptChoice | null, b: PromptChoice): boolean {
  return a !== null && a.id === b.id && a.version === b.version;
}

interface InheritedProps {
  text: React.ReactNode;
  what: string;
  disabled: boolean;
  onOwn: () => void;
}

function Inherited({ text, what, disabled, onOwn }: InheritedProps) {
  return (
    <Group gap="xs">
      <span className={editor.hint}>{text}</span>
      <Button
        size="compact-xs"
        variant="default"
        aria-label={`Change here: ${what}`}
        disabled={disabled}
        onClick={onOwn}
      >
        Change here
      </Button>
    </Group>
  );
}

interface ToolAnsweringProps {
  name: string;
  setting: ToolSetting;
  onChange: (setting: ToolSetting) => void;
}

function ToolAnswering({ name, setting, onChange }: ToolAnsweringProps) {
  const { policy, content, recorded } = setting;
  return (
    <div className={classes.answering} data-testid="tool-answering">
      <Select
        size="xs"
        label={
          <>
            When the model calls <bdi>{name}</bdi>
          </>
        }
        data={[
          { value: "stop", label: "Stop, I type the result" },
          { value: "fixed", label: "Always answer the same" },
          ...(recorded.length > 0 || policy === "recorded"
            ? [
                {
                  value: "recorded",
                  label: `Answer as recorded (${recorded.length} ${recorded.length === 1 ? "result" : "results"})`,
                },
              ]
            : []),
        ]}
        value={policy}
        onChange={(chosen) => onChange({ ...setting, policy: (chosen ?? "stop") as ToolPolicy })}
        allowDeselect={false}
      />
      {policy === "fixed" && (
        <TextInput
          mt={4}
          size="xs"
          aria-label={`Answer of ${name}`}
          placeholder="The result of each call"
          value={content}
          onChange={(event) => onChange({ ...setting, content: event.currentTarget.value })}
        />
      )}
    </div>
  );
}

/** What couldn't be restored from the run that the playground was opened from. */
export function NotRestoredNotice({
  items,
  onClose,
}: {
  items: readonly { what: string; reason: string }[];
  onClose: () => void;
}) {
  return (
    <Alert
      variant="light"
      color="yellow"
      p="xs"
      c="var(--lt-text)"
      title={
        items.length === 1 ? "1 part of the call isn't here" : `${items.length} parts of the call aren't here`
      }
      withCloseButton
      closeButtonLabel="Close"
      onClose={onClose}
      data-testid="not-restored"
    >
      <ul className={classes.restored}>
        {items.map(({ what, reason }) => (
          <li key={what + reason}>
            <code>{what}</code> {reason}
          </li>
        ))}
      </ul>
    </Alert>
  );
}
