import { Autocomplete, Button, Checkbox, Select, Stack, TextInput } from "@mantine/core";
import { useMemo } from "react";
import { useProviderModels } from "@/api/providers";
import type { DatasetItem, Provider } from "@/api/types";
import { type DraftModel, draftOf } from "@/components/editor/draft";
import editor from "@/components/editor/Editor.module.css";
import { MessageList } from "@/components/editor/MessageList";
import { MessagesEditor } from "@/components/editor/MessagesEditor";
import { ModelParameters } from "@/components/editor/ModelParameters";
import { ResponseFormatEditor } from "@/components/editor/ResponseFormatEditor";
import { ToolsEditor } from "@/components/editor/ToolsEditor";
import { Disclosure } from "@/components/evaluation/Disclosure";
import { ProblemPanel } from "@/components/ProblemPanel";
import { PromptPicker } from "@/components/PromptPicker";
import classes from "./ComparisonForm.module.css";
import {
  contentOf,
  errorsBelow,
  type FormErrors,
  namesOf,
  type ReadySide,
  type Side,
  type SideDraft,
  withOwnMessages,
  withPrompt,
} from "./newComparison";
import { VariablePaths } from "./VariablePaths";

interface Props {
  projectId: string;
  /** Null for the only configuration of an eval-run. */
  which: Side | null;
  ready: ReadySide;
  providers: readonly Provider[];
  /** Items of the dataset, for previews. */
  items: readonly DatasetItem[];
  errors: FormErrors;
  /** Why the prompt couldn't be loaded. */
  loadError: Error | null;
  onChange: (apply: (side: SideDraft) => SideDraft) => void;
}

/** One configuration: a prompt or messages, a model with its parameters, and where variables come from. */
export function SideForm(props: Props) {
  const { projectId, which, ready, providers, items, errors, loadError, onChange } = props;
  const { side, version, providerId } = ready;
  const letter = which?.toUpperCase() ?? "the target";
  const at = which === null ? "body.target.config" : `body.${which}`;
  const models = useProviderModels(projectId, providerId);
  const modelNames = useMemo(() => [...new Set(models.data?.data.map(({ id }) => id) ?? [])], [models.data]);
  const content = contentOf(side, version);
  const names = useMemo(() => (content ? namesOf(content) : []), [content]);
  const { model } = side.content;
  const setModel = (changed: DraftModel) =>
    onChange((before) => ({ ...before, content: { ...before.content, model: changed } }));
  const setContent = (changed: Partial<SideDraft["content"]>) =>
    onChange((before) => ({ ...before, content: { ...before.content, ...changed } }));
  const inherited = version ? draftOf(version).model : undefined;
  const shown = [`${at}.provider_id`, `${at}.model_config.model`, `${at}.name`, `${at}.variables_map`];
  const others = errorsBelow(errors, at, shown);
  return (
    <section
      className={classes.side}
      aria-label={`Configuration ${letter}`}
      data-testid={`side-${which ?? "target"}`}
    >
      <h2>{which === null ? "Configuration" : letter}</h2>
      <Stack gap="xs">
        <PromptPicker
          projectId={projectId}
          value={side.prompt}
          onChange={(prompt) => onChange((before) => withPrompt(before, prompt))}
          label={`Prompt of ${letter}`}
          placeholder="Own messages, or choose a prompt"
        />
        {loadError && <ProblemPanel error={loadError} />}
        {side.prompt === null ? (
          <>
            <MessagesEditor
              messages={side.content.messages}
              format={side.content.format}
              variables={names}
              errors={[]}
              onChange={(messages) => setContent({ messages })}
            />
            <Checkbox
              size="xs"
              label={`Messages of ${letter} are templates`}
              checked={side.content.format === "mustache"}
              onChange={(event) => setContent({ format: event.currentTarget.checked ? "mustache" : "none" })}
            />
          </>
        ) : (
          version && (
            <Disclosure className={classes.details} summary="Messages of the prompt">
              <MessageList messages={version.messages} isTemplate={version.template_format === "mustache"} />
              <Button
                mt="xs"
                size="compact-sm"
                variant="default"
                onClick={() => onChange((before) => withOwnMessages(before, version))}
              >
                Edit here
              </Button>
            </Disclosure>
          )
        )}
        {Object.keys(side.replaced).length > 0 && (
          <p className={classes.note}>
            Its own {Object.keys(side.replaced).join(" and ").replace("response_format", "response format")}{" "}
            instead of those of the prompt.{" "}
            <Button
              size="compact-xs"
              variant="default"
              onClick={() => onChange((before) => ({ ...before, replaced: {} }))}
            >
              Use those of the prompt
            </Button>
          </p>
        )}
        <div className={classes.model}>
          <Select
            size="xs"
            label="Connection"
            aria-label={`Connection of ${letter}`}
            placeholder="Connection"
            data={providers.map(({ id, name }) => ({ value: id, label: name }))}
            value={providerId || null}
            onChange={(value) => setModel({ ...model, providerId: value ?? "" })}
            allowDeselect={false}
            error={errors[`${at}.provider_id`]}
          />
          <Autocomplete
            size="xs"
            label="Model"
            aria-label={`Model of ${letter}`}
            placeholder={inherited?.model || "Model"}
            maxLength={200}
            limit={50}
            data={modelNames}
            value={model.model}
            onChange={(value) => setModel({ ...model, model: value })}
            error={errors[`${at}.model_config.model`]}
          />
          <TextInput
            size="xs"
            label="Name"
            aria-label={`Name of ${letter}`}
            placeholder={
              side.prompt ? `${side.prompt.name} v${side.prompt.version}` : model.model || "the model"
            }
            maxLength={100}
            autoComplete="off"
            value={side.name}
            onChange={(event) => {
              const { value } = event.currentTarget;
              onChange((before) => ({ ...before, name: value }));
            }}
            error={errors[`${at}.name`]}
          />
        </div>
        <Disclosure
          className={classes.details}
          summary={side.prompt === null ? "Parameters, tools and response format" : "Parameters"}
        >
          <ModelParameters
            model={model}
            tools={content?.tools ?? []}
            inherited={inherited}
            errors={parameterErrors(errors, at)}
            onChange={setModel}
          />
          {side.prompt === null && (
            <>
              <h3 className={editor.label}>Tools</h3>
              <ToolsEditor
                tools={side.content.tools}
                errors={[]}
                onChange={(tools) => setContent({ tools })}
              />
              <h3 className={editor.label}>Response format</h3>
              <ResponseFormatEditor
                value={side.content.responseFormat}
                error={errors[`${at}.response_format`]}
                onChange={(responseFormat) => setContent({ responseFormat })}
              />
            </>
          )}
        </Disclosure>
        <VariablePaths
          letter={letter}
          names={names}
          paths={side.paths}
          items={items}
          errors={errors}
          at={`${at}.variables_map`}
          onChange={(name, path) =>
            onChange((before) => ({ ...before, paths: { ...before.paths, [name]: path } }))
          }
        />
        {others.length > 0 && (
          <ul className={classes.errors} role="alert">
            {others.map((message) => (
              <li key={message}>{message}</li>
            ))}
          </ul>
        )}
      </Stack>
    </section>
  );
}

/** The errors of parameters, at their fields. */
function parameterErrors(errors: FormErrors, at: string) {
  const prefix = `${at}.model_config.`;
  return Object.entries(errors)
    .filter(([location]) => location.startsWith(prefix))
    .map(([location, message]) => ({ at: location.slice(prefix.length), message }));
}
