import { Badge, Button, FileButton, Group, Select, Stack, Text, Textarea } from "@mantine/core";
import { IconFile } from "@tabler/icons-react";
import { useState } from "react";
import { Link } from "react-router";
import { useImportPrompts } from "@/api/prompts";
import type { PromptImport, PromptImportFormat, PromptImportReport } from "@/api/types";
import { Dialog } from "@/components/Dialog";
import { formatBytes, formatCount } from "@/components/format";
import { ProblemPanel } from "@/components/ProblemPanel";
import classes from "./ImportDialog.module.css";

const formats: { value: PromptImportFormat; label: string }[] = [
  { value: "openai", label: "OpenAI prompt objects" },
  { value: "langfuse", label: "Langfuse" },
  { value: "langsmith", label: "LangSmith" },
  { value: "promptfoo", label: "promptfoo" },
];

/** As much as the API accepts. */
const MAX_BYTES = 16 * 1024 * 1024;

interface Props {
  projectId: string;
  onClose: () => void;
}

/** Imports prompts from an export of another product: first a report of what would happen, then the import. */
export function ImportDialog({ projectId, onClose }: Props) {
  const check = useImportPrompts(projectId);
  const run = useImportPrompts(projectId);
  const [content, setContent] = useState("");
  const [fileName, setFileName] = useState<string>();
  const [format, setFormat] = useState<PromptImportFormat | null>(null);
  const [fileError, setFileError] = useState<string>();
  const report = run.data ?? check.data;
  const body: Omit<PromptImport, "project_id" | "dry_run"> = {
    content,
    ...(fileName !== undefined && { file_name: fileName }),
    ...(format !== null && { format }),
  };
  const read = async (file: File | null) => {
    if (!file) return;
    check.reset();
    setFileError(undefined);
    if (file.size > MAX_BYTES) {
      setFileError(`${file.name} is ${formatBytes(file.size)}; the limit is ${formatBytes(MAX_BYTES)}.`);
      return;
    }
    try {
      setContent(await file.text());
      setFileName(file.name);
    } catch {
      setFileError(`${file.name} can't be read. Choose it again.`);
    }
  };
  const importable = report?.imported.filter(({ change }) => change !== "unchanged").length ?? 0;
  const isPending = check.isPending || run.isPending;
  return (
    <Dialog onClose={onClose} title="Import prompts" size="xl">
      <Stack gap="md">
        {report ? (
          <Report report={report} projectId={projectId} onClose={onClose} />
        ) : (
          <>
            <Text size="sm">
              Reads exports of OpenAI prompt objects, Langfuse, LangSmith and promptfoo, as JSON or YAML. You
              see what would be imported before anything is saved.
            </Text>
            <Group gap="sm" align="center">
              <FileButton accept=".json,.jsonl,.yaml,.yml,.txt" onChange={(file) => void read(file)}>
                {(props) => (
                  <Button {...props} variant="default" leftSection={<IconFile size={14} />} data-autofocus>
                    Choose file
                  </Button>
                )}
              </FileButton>
              <Text size="sm" c="dimmed">
                {fileName === undefined
                  ? "or paste its text below"
                  : `${fileName}, ${formatBytes(new Blob([content]).size)}`}
              </Text>
            </Group>
            {fileError && (
              <Text size="sm" c="var(--lt-error-text)" role="alert">
                {fileError}
              </Text>
            )}
            <Textarea
              label="Text of the export"
              classNames={{ input: classes.text }}
              spellCheck={false}
              rows={10}
              value={content}
              onChange={(event) => {
                check.reset();
                setContent(event.currentTarget.value);
              }}
            />
            <Select
              label="Format"
              placeholder="Recognize by content"
              data={formats}
              value={format}
              onChange={(value) => setFormat(value as PromptImportFormat | null)}
              clearable
              maw={260}
            />
          </>
        )}
        {(run.error ?? check.error) && <ProblemPanel error={(run.error ?? check.error) as Error} />}
        <Group justify="flex-end">
          {run.data ? (
            <Button onClick={onClose}>Done</Button>
          ) : report ? (
            <>
              <Button
                variant="default"
                onClick={() => {
                  check.reset();
                  run.reset();
                }}
                disabled={isPending}
              >
                Back
              </Button>
              <Button
                loading={run.isPending}
                disabled={importable === 0}
                onClick={() => run.mutate({ ...body, dry_run: false })}
              >
                {importable === 0
                  ? "Nothing to import"
                  : `Import ${formatCount(importable)} ${importable === 1 ? "prompt" : "prompts"}`}
              </Button>
            </>
          ) : (
            <>
              <Button variant="default" onClick={onClose}>
                Cancel
              </Button>
              <Button
                loading={check.isPending}
                disabled={content.trim() === ""}
                onClick={() => check.mutate({ ...body, dry_run: true })}
              >
                Preview import
              </Button>
            </>
          )}
        </Group>
      </Stack>
    </Dialog>
  );
}

interface ReportProps {
  report: PromptImportReport;
  projectId: string;
  onClose: () => void;
}

function Report({ report, projectId, onClose }: ReportProps) {
  const { imported, rejected, dry_run: isPreview } = report;
  const count = (change: string) => imported.filter((prompt) => prompt.change === change).length;
  const summary = [
    [count("created"), isPreview ? "would be created" : "created"],
    [count("new_version"), isPreview ? "would get a new version" : "got a new version"],
    [count("unchanged"), "unchanged"],
    [rejected.length, "can't be imported"],
  ]
    .filter(([number]) => number !== 0)
    .map(([number, text]) => `${formatCount(number as number)} ${text}`);
  const from = formats.find(({ value }) => value === report.format)?.label ?? report.format;
  const changes = {
    created: isPreview ? "new" : "created",
    new_version: "new version",
    unchanged: "unchanged",
  };
  return (
    <div role="status" data-testid="import-report" data-dry-run={isPreview}>
      <Text size="sm" fw={550}>
        {isPreview ? "" : "Imported. "}
        {from}: {summary.length === 0 ? "no prompts found" : summary.join(", ")}.
      </Text>
      <ul className={classes.list}>
        {rejected.map(({ source_name: name, path, line, reason }) => (
          <li key={`${name} ${path} ${line} ${reason}`} data-testid="import-rejected">
            <Group gap={8}>
              <strong>{name || "unnamed"}</strong>
              <Badge size="sm" variant="outline" color="red" tt="none">
                can't be imported
              </Badge>
            </Group>
            <p>
              {path !== null && <code>{path}</code>}
              {line !== null && ` line ${line}`}
              {(path !== null || line !== null) && ": "}
              {reason}
            </p>
          </li>
        ))}
        {imported.map((prompt) => (
          <li key={prompt.source_name + prompt.name} data-testid="import-prompt" data-change={prompt.change}>
            <Group gap={8}>
              {prompt.prompt_id ? (
                <Link to={`/p/${projectId}/prompts/${prompt.prompt_id}`} onClick={onClose}>
                  <strong>{prompt.name}</strong>
                </Link>
              ) : (
                <strong>{prompt.name}</strong>
              )}
              <Badge size="sm" variant="default" tt="none">
                {changes[prompt.change]}
                {prompt.change !== "created" && ` v${prompt.version}`}
              </Badge>
              {prompt.source_name !== prompt.name && (
                <Text size="xs" c="dimmed">
                  named {prompt.source_name} in the file
                </Text>
              )}
              {prompt.aliases.map((alias) => (
                <Badge key={alias} size="sm" variant="default" tt="none">
                  alias {alias}
                </Badge>
              ))}
            </Group>
            {prompt.conversions.length > 0 && (
              <details>
                <summary>
                  {prompt.conversions.length === 1
                    ? "1 tag converted"
                    : `${formatCount(prompt.conversions.length)} tags converted`}
                </summary>
                <ul>
                  {prompt.conversions.map(({ path, line, from: before, to }, index) => (
                    // biome-ignore lint/suspicious/noArrayIndexKey: the same tag can occur twice in a line
                    <li key={index}>
                      <code>{path}</code> line {line}: <code>{before}</code> → <code>{to}</code>
                    </li>
                  ))}
                </ul>
              </details>
            )}
            {prompt.left_out.map((reason) => (
              <p key={reason}>Left out: {reason}</p>
            ))}
          </li>
        ))}
      </ul>
    </div>
  );
}
