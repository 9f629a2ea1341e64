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
import { errorsBelow, type FormErrors } from "@/components/formErrors";
import { ProblemPanel } from "@/components/ProblemPanel";
import { PromptPicker } from "@/components/PromptPicker";
import classes from "./Configuration.module.css";
import {
  type ConfigurationDraft,
  contentOf,
  namesOf,
  type ReadyConfiguration,
  withOwnMessages,
  withPrompt,
} from "./configurationDraft";
import { VariablePaths } from "./VariablePaths";

interface Props {
  projectId: string;
  title: string;
  /** What it is called in the names of fields: "A" for "Model of A". */
  of: string;
  /** Its location in the request. */
  at: string;
  testId: string;
  ready: ReadyConfiguration;
  providers: readonly Provider[];
  /** Items of the dataset, for previews. */
  items: readonly DatasetItem[];
  errors: FormErrors;
  /** Why the prompt couldn't be loaded. */
  loadError: Error | null;
  onChange: (apply: (draft: ConfigurationDraft) => ConfigurationDraft) => void;
}

/** One configuration: a prompt or messages, a model with its parameters, and where variables come from. */
export function ConfigurationForm(props: Props) {
  const { projectId, title, of, at, testId, ready, providers, items, errors, loadError, onChange } = props;
  const { draft, version, providerId } = ready;
  const models = useProviderModels(projectId, providerId);
  const modelNames = useMemo(() => [...new Set(models.data?.data.map(({ id }) => id) ?? [])], [models.data]);
  const content = contentOf(draft, version);
  const names = useMemo(() => (content ? namesOf(content) : []), [content]);
  const { model } = draft.content;
  const setModel = (changed: DraftModel) =>
    onChange((before) => ({ ...before, content: { ...before.content, model: changed } }));
  const setContent = (changed: Partial<ConfigurationDraft["content"]>) =>
    onChange((before) => ({ ...before, content: { ...before.content, ...changed } }));
  const inherited = version ? draftOf(version).model : undefined;
  const shown = [`${at}.provider_id`, `${at}.model_config.model`, `${at}.name`, `${at}.variables_map`];
  const others = errorsBelow(errors, at, shown);
  return (
    <section className={classes.configuration} aria-label={`Configuration ${of}`} data-testid={testId}>
      <h2>{title}</h2>
      <Stack gap="xs">
        <PromptPicker
          projectId={projectId}
          value={draft.prompt}
          onChange={(prompt) => onChange((before) => withPrompt(before, prompt))}
          label={`Prompt of ${of}`}
          placeholder="Own messages, or choose a prompt"
        />
        {loadError && <ProblemPanel error={loadError} />}
        {draft.prompt === null ? (
          <>
            <MessagesEditor
              messages={draft.content.messages}
              format={draft.content.format}
              variables={names}
              errors={[]}
              onChange={(messages) => setContent({ messages })}
            />
            <Checkbox
              size="xs"
              label={`Messages of ${of} are templates`}
              checked={draft.content.format === "mustache"}
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
        {Object.keys(draft.replaced).length > 0 && (
          <p className={classes.note}>
            Its own {Object.keys(draft.replaced).join(" and ").replace("response_format", "response format")}{" "}
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
            aria-label={`Connection of ${of}`}
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
            aria-label={`Model of ${of}`}
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
            aria-label={`Name of ${of}`}
            placeholder={
              draft.prompt ? `${draft.prompt.name} v${draft.prompt.version}` : model.model || "the model"
            }
            maxLength={100}
            autoComplete="off"
            value={draft.name}
            onChange={(event) => {
              const { value } = event.currentTarget;
              onChange((before) => ({ ...before, name: value }));
            }}
            error={errors[`${at}.name`]}
          />
        </div>
        <Disclosure
          className={classes.details}
          summary={draft.prompt === null ? "Parameters, tools and response format" : "Parameters"}
        >
          <ModelParameters
            model={model}
            tools={content?.tools ?? []}
            inherited={inherited}
            errors={parameterErrors(errors, at)}
            onChange={setModel}
          />
          {draft.prompt === null && (
            <>
              <h3 className={editor.label}>Tools</h3>
              <ToolsEditor
                tools={draft.content.tools}
                errors={[]}
                onChange={(tools) => setContent({ tools })}
              />
              <h3 className={editor.label}>Response format</h3>
              <ResponseFormatEditor
                value={draft.content.responseFormat}
                error={errors[`${at}.response_format`]}
                onChange={(responseFormat) => setContent({ responseFormat })}
              />
            </>
          )}
        </Disclosure>
        <VariablePaths
          of={of}
          names={names}
          paths={draft.paths}
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
