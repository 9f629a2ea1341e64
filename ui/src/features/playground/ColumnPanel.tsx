import { ActionIcon, Autocomplete, Button, Menu, Select, Tooltip } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import {
  IconAdjustments,
  IconCode,
  IconCopy,
  IconDatabasePlus,
  IconDeviceFloppy,
  IconDots,
  IconPlayerPlay,
  IconPlayerStop,
  IconTable,
  IconTrash,
} from "@tabler/icons-react";
import { useId, useMemo, useRef, useState } from "react";
import { useCompletionPreview } from "@/api/playground";
import { ApiError, whyOf } from "@/api/problem";
import { useProviderModels } from "@/api/providers";
import type { Provider } from "@/api/types";
import type { Draft, DraftError, DraftModel } from "@/components/editor/draft";
import { ModelParameters } from "@/components/editor/ModelParameters";
import { formatCost, formatCount } from "@/components/format";
import { type PromptChoice, PromptPicker } from "@/components/PromptPicker";
import { FirstItem } from "@/components/RowMenu";
import { Updating } from "@/components/Updating";
import { AnswerView } from "./AnswerView";
import type { Answer, Turn } from "./answer";
import { ColumnResult } from "./ColumnResult";
import type { Fix } from "./fixes";
import { type LiveAnswers, useAnswer } from "./live";
import classes from "./Playground.module.css";
import { type ParameterName, type PlayColumn, type Prepared, parameters } from "./play";
import { useFollow } from "./useFollow";

/** What can be done with a column besides running it. */
export type ColumnAction = "request" | "version" | "item" | "dataset";

interface Props {
  projectId: string;
  number: number;
  column: PlayColumn;
  providers: readonly Provider[];
  prepared: Prepared;
  /** What it sends; undefined while its prompt is loading. */
  source: Draft | undefined;
  /** The parameters of its prompt. */
  promptModel: DraftModel | undefined;
  errors: readonly DraftError[];
  live: LiveAnswers;
  mayRun: boolean;
  may: { saveVersion: boolean; addItem: boolean };
  suggestion: (tool: string) => string;
  onChange: (column: PlayColumn) => void;
  onPrompt: (choice: PromptChoice | null) => void;
  onRun: () => void;
  onResults: (answer: Answer, results: Extract<Turn, { kind: "tool" }>[]) => void;
  /** What one click can do about an error. */
  fixes: (error: ApiError) => readonly Fix[];
  onFix: (fix: Fix) => void;
  onAction: (action: ColumnAction) => void;
  /** Missing if there are as many columns as there may be. */
  onDuplicate?: () => void;
  /** Missing for the only column. */
  onRemove?: () => void;
}

/** One model with its parameters, and what it answers. */
export function ColumnPanel(props: Props) {
  const { projectId, number, column, providers, prepared, source, promptModel } = props;
  const { errors, live, mayRun, onChange } = props;
  const answer = useAnswer(live, column.id);
  const isRunning = answer?.status === "running";
  const [showsParameters, setShowsParameters] = useState(false);
  const models = useProviderModels(projectId, column.providerId);
  const parametersId = useId();
  const scroller = useRef<HTMLElement>(null);
  useFollow(scroller, answer);
  const names = useMemo(() => [...new Set(models.data?.data.map(({ id }) => id) ?? [])], [models.data]);
  // The estimate has them, too.
  const notes =
    (!mayRun || prepared.draft === null) && source
      ? (models.data?.data.find(({ id }) => id === source.model.model)?.notes ?? [])
      : [];
  const removed = column.without.filter(
    (parameter) => isSet(promptModel, parameter) && !isSet(column.model, parameter),
  );
  const name = `Column ${number}`;
  const set = parameterCount(source?.model ?? column.model);
  const settings = set === 0 ? "Default" : `${set} set`;
  return (
    <section className={classes.column} aria-label={name} data-testid="column" data-status={answer?.status}>
      <div className={classes.head}>
        <div className={classes.row}>
          <Select
            size="xs"
            flex={1}
            miw={0}
            aria-label={`Connection of column ${number}`}
            placeholder="Connection"
            data={providers.map(({ id, name: label }) => ({ value: id, label }))}
            value={column.providerId || null}
            onChange={(providerId) => onChange({ ...column, providerId: providerId ?? "" })}
            allowDeselect={false}
          />
          {isRunning ? (
            <Button
              size="xs"
              variant="default"
              leftSection={<IconPlayerStop size={13} />}
              aria-label={`Stop column ${number}`}
              onClick={() => live.stop(column.id)}
            >
              Stop
            </Button>
          ) : (
            <Button
              size="xs"
              variant="light"
              leftSection={<IconPlayerPlay size={13} />}
              aria-label={`Run column ${number}`}
              disabled={!mayRun || prepared.draft === null}
              onClick={props.onRun}
            >
              Run
            </Button>
          )}
          <ColumnMenu {...props} answer={answer} />
        </div>
        <div className={classes.row}>
          <Autocomplete
            size="xs"
            flex={1}
            miw={0}
            aria-label={`Model of column ${number}`}
            placeholder={source?.model.model || "Model"}
            maxLength={200}
            limit={50}
            data={names}
            value={column.model.model}
            onChange={(model) => onChange({ ...column, model: { ...column.model, model } })}
          />
          <Tooltip label="Parameters">
            <Button
              size="xs"
              variant="default"
              leftSection={<IconAdjustments size={13} />}
              aria-label={`${settings}, parameters of column ${number}`}
              aria-expanded={showsParameters}
              aria-controls={parametersId}
              onClick={() => setShowsParameters(!showsParameters)}
            >
              {settings}
            </Button>
          </Tooltip>
        </div>
        <div id={parametersId} hidden={!showsParameters} className={classes.parameters}>
          {showsParameters && (
            <>
              <PromptPicker
                projectId={projectId}
                value={column.prompt}
                onChange={props.onPrompt}
                label={`Prompt of column ${number}`}
                placeholder="Shared messages, or another prompt"
              />
              <ModelParameters
                model={column.model}
                tools={source?.tools ?? []}
                inherited={source?.model}
                errors={errors}
                onChange={(model) => onChange({ ...column, model })}
              />
            </>
          )}
        </div>
        {column.prompt && !showsParameters && (
          <div className={classes.note}>
            Prompt {column.prompt.name} v{column.prompt.version}
          </div>
        )}
        {removed.map((parameter) => (
          <div key={parameter} className={classes.removed} data-testid="removed-parameter">
            <span>
              The prompt's <code>{parameter}</code> isn't sent.
            </span>
            <Button
              size="compact-xs"
              variant="default"
              aria-label={`Send it: ${parameter} in column ${number}`}
              onClick={() =>
                onChange({ ...column, without: column.without.filter((name) => name !== parameter) })
              }
            >
              Send it
            </Button>
          </div>
        ))}
        {notes.map(({ parameter, message }) => (
          <div key={parameter} className={classes.note}>
            <code>{parameter}</code> {message}
          </div>
        ))}
        <div className={classes.note} data-testid="estimate">
          {prepared.draft === null ? (
            prepared.problems.join(" ")
          ) : mayRun ? (
            <Estimate prepared={prepared} />
          ) : null}
        </div>
      </div>
      <section
        ref={scroller}
        className={classes.answer}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
        tabIndex={0}
        aria-label={`Answer of column ${number}`}
        data-testid="answer"
      >
        {answer ? (
          <>
            <AnswerView
              answer={answer}
              suggestion={props.suggestion}
              onResults={mayRun ? (results) => props.onResults(answer, results) : undefined}
            />
            <ColumnResult
              projectId={projectId}
              answer={answer}
              fixes={answer.error instanceof ApiError ? props.fixes(answer.error) : []}
              onFix={props.onFix}
              onRetry={mayRun && prepared.draft !== null ? props.onRun : undefined}
            />
          </>
        ) : (
          <span className={classes.note}>The answer appears here.</span>
        )}
      </section>
    </section>
  );
}

function isSet(model: DraftModel | undefined, parameter: ParameterName): boolean {
  return model !== undefined && model[parameters[parameter]].length > 0;
}

/** How many parameters differ from the provider's defaults, those of the prompt among them. */
function parameterCount(model: DraftModel): number {
  return Object.values(parameters).filter((member) => model[member].length > 0).length;
}

function ColumnMenu(props: Props & { answer: Answer | undefined }) {
  const { number, prepared, answer, mayRun, may, onAction, onDuplicate, onRemove } = props;
  const hasAnswer = answer?.completion != null;
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="sm" aria-label={`Actions for column ${number}`}>
          <IconDots size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <FirstItem
          leftSection={<IconCode size={15} />}
          disabled={!mayRun || prepared.draft === null}
          onClick={() => onAction("request")}
        >
          Show request…
        </FirstItem>
        <Menu.Item
          leftSection={<IconTable size={15} />}
          disabled={!mayRun}
          onClick={() => onAction("dataset")}
        >
          Run over a dataset…
        </Menu.Item>
        {may.saveVersion && (
          <Menu.Item
            leftSection={<IconDeviceFloppy size={15} />}
            disabled={prepared.content === null}
            onClick={() => onAction("version")}
          >
            Save as prompt version…
          </Menu.Item>
        )}
        {may.addItem && (
          <Menu.Item
            leftSection={<IconDatabasePlus size={15} />}
            disabled={!hasAnswer}
            onClick={() => onAction("item")}
          >
            Add to dataset…
          </Menu.Item>
        )}
        <Menu.Divider />
        <Menu.Item leftSection={<IconCopy size={15} />} disabled={!onDuplicate} onClick={onDuplicate}>
          Duplicate column
        </Menu.Item>
        <Menu.Item leftSection={<IconTrash size={15} />} disabled={!onRemove} onClick={onRemove}>
          Remove column
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

/** What one call can cost, as the server estimates it. */
function Estimate({ prepared }: { prepared: Prepared }) {
  const [draft] = useDebouncedValue(prepared.draft, 700);
  const preview = useCompletionPreview(draft);
  if (preview.error) return whyOf(preview.error);
  if (!preview.data) return "Estimating the cost…";
  const isStale = draft !== prepared.draft || preview.isPlaceholderData;
  const { input_tokens, max_cost_usd, priced, warnings, unused } = preview.data;
  const cost =
    max_cost_usd !== null
      ? `at most ${formatCost(max_cost_usd)} a call`
      : priced
        ? "cost unknown unless Max. output tokens is set"
        : "no price known";
  return (
    <>
      <span aria-busy={isStale}>
        About {formatCount(input_tokens)} input tokens, {cost}.
      </span>
      {isStale && <Updating />}
      {warnings.map((warning) => (
        <div key={warning}>{warning}</div>
      ))}
      {unused.length > 0 && <div>Not used: {unused.join(", ")}.</div>}
    </>
  );
}
