import { Alert, Button, FileButton, Group, Progress, Stack, Text } from "@mantine/core";
import { IconFile, IconUpload } from "@tabler/icons-react";
import { useEffect, useRef, useState } from "react";
import { Link, useNavigate, useParams } from "react-router";
import { useDataset } from "@/api/datasets";
import { useImportPreview, useUploadImport } from "@/api/imports";
import { ApiError } from "@/api/problem";
import type { Dataset, ImportMapping, ImportPreview } from "@/api/types";
import { formatBytes } from "@/components/format";
import { Page } from "@/components/Page";
import { PageHint, PageMessage } from "@/components/PageMessage";
import { PageState } from "@/components/PageState";
import { ProblemPanel } from "@/components/ProblemPanel";
import { SkeletonRows } from "@/components/QueryState";
import { useBack } from "@/components/useBack";
import { allows, useProject, useProjectId } from "@/components/useProject";
import { defaultOptions, ImportOptions, mistakeIn, type Options } from "./ImportOptions";
import classes from "./ImportPage.module.css";
import { type Choice, choose, MAX_BYTES, MAX_WHOLE_BYTES } from "./importFile";
import { MappingEditor } from "./MappingEditor";
import { columnsOf } from "./mapping";
import { PreviewItems } from "./PreviewItems";
import { type Reading, ReadingFields } from "./ReadingFields";

/** Imports a file into a dataset: choose it, see what it would make, and send it. */
export function ImportPage() {
  const projectId = useProjectId();
  const { datasetId = "" } = useParams();
  const query = useDataset(datasetId);
  return (
    <PageState
      query={query}
      skeleton={<SkeletonRows count={5} height={40} />}
      title="Dataset"
      above={{ label: "Back to the datasets", to: `/p/${projectId}/datasets` }}
    >
      {(dataset) => <View dataset={dataset} />}
    </PageState>
  );
}

function View({ dataset }: { dataset: Dataset }) {
  const mayWrite = allows(useProject(), "datasets:write");
  const back = useBack();
  return (
    <Page
      title={`Import into ${dataset.name}`}
      back={{ label: "Back to the dataset", onClick: back }}
      context="CSV, JSON, JSONL, YAML, Parquet or Excel. An import makes one revision with all its changes, or none."
    >
      {mayWrite ? (
        <Wizard dataset={dataset} />
      ) : (
        <PageMessage title="You can't import into this dataset.">
          <PageHint>Your role doesn't include adding items.</PageHint>
        </PageMessage>
      )}
    </Page>
  );
}

function Wizard({ dataset }: { dataset: Dataset }) {
  const [choice, setChoice] = useState<Choice | null>(null);
  const [fileError, setFileError] = useState<string | null>(null);
  const [isOver, setOver] = useState(false);
  const take = async (file: File | null | undefined) => {
    if (!file) return;
    setChoice(null);
    setFileError(null);
    if (file.size === 0) setFileError(`${file.name} is empty.`);
    else if (file.size > MAX_BYTES)
      setFileError(
        `${file.name} is ${formatBytes(file.size)}; the limit is ${formatBytes(MAX_BYTES)}. Split it into several files.`,
      );
    else
      await choose(file).then(setChoice, () =>
        setFileError(`${file.name} can't be read. Choose it again, or choose another file.`),
      );
  };
  return (
    <>
      <section
        aria-label="File"
        className={classes.drop}
        data-over={isOver || undefined}
        data-chosen={choice ? true : undefined}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          void take(event.dataTransfer.files[0]);
        }}
      >
        {choice ? (
          <Group gap={8} wrap="nowrap" className={classes.file}>
            <IconFile size={16} aria-hidden="true" />
            <strong>{choice.chosen.file.name}</strong>
            <Text span size="sm" c="dimmed">
              {formatBytes(choice.chosen.file.size)}
            </Text>
          </Group>
        ) : (
          <span>Drop a file here, or</span>
        )}
        <FileButton onChange={(file) => void take(file)} inputProps={{ "aria-label": "File to import" }}>
          {(props) => (
            <Button {...props} variant={choice ? "default" : "filled"} leftSection={<IconUpload size={14} />}>
              {choice ? "Choose another file" : "Choose a file"}
            </Button>
          )}
        </FileButton>
      </section>
      {fileError && (
        <Text size="sm" c="var(--lt-error-text)" role="alert" mt="xs">
          {fileError}
        </Text>
      )}
      {choice && <Steps key={choice.chosen.id} dataset={dataset} choice={choice} />}
    </>
  );
}

function Steps({ dataset, choice }: { dataset: Dataset; choice: Choice }) {
  const { chosen, isPartial, isTooLarge } = choice;
  const [reading, setReading] = useState<Reading>({});
  const [mapping, setMapping] = useState<ImportMapping | null>(null);
  const [options, setOptions] = useState<Options>(defaultOptions);
  const lacksInput = mapping?.shape === "columns" && columnsOf(mapping.input).length === 0;
  const query = useImportPreview(dataset.id, isTooLarge || lacksInput ? null : chosen, {
    file_name: chosen.file.name,
    ...reading,
    mapping: mapping ? JSON.stringify(mapping) : undefined,
    partial: isPartial || undefined,
  });
  // A preview that fails must not take away the fields that fix it.
  const [last, setLast] = useState<ImportPreview | undefined>(query.data);
  if (query.data && query.data !== last) setLast(query.data);
  const preview = query.data ?? last;
  return (
    <>
      {isTooLarge && (
        <Alert variant="light" color="yellow" c="var(--lt-text)" mt="md" title="No preview for this file">
          A preview of Parquet and Excel needs the whole file, up to {formatBytes(MAX_WHOLE_BYTES)}. You can
          still import it: columns are mapped by name, such as question to the input and answer to the
          reference output. Rows that can't be used are listed.
        </Alert>
      )}
      {query.error && (
        <div className={classes.step}>
          <PreviewProblem error={query.error} onRetry={() => void query.refetch()} />
        </div>
      )}
      {!isTooLarge && (
        <Step title="How the file is read">
          <ReadingFields
            reading={reading}
            preview={preview}
            onChange={(changed) => {
              setReading(changed);
              setMapping(null);
            }}
          />
        </Step>
      )}
      {!isTooLarge && !preview && !query.error && (
        <div aria-busy="true">
          <SkeletonRows count={6} height={34} />
        </div>
      )}
      {preview && (
        <>
          <Step title="Where the columns go">
            <MappingEditor
              mapping={mapping ?? preview.mapping}
              isFound={mapping === null}
              preview={preview}
              onChange={setMapping}
            />
          </Step>
          <Step title="Preview">
            <div
              className={query.isPlaceholderData || query.error ? classes.stale : undefined}
              aria-busy={query.isPlaceholderData}
            >
              <PreviewItems preview={preview} />
            </div>
          </Step>
        </>
      )}
      {(preview || isTooLarge) && (
        <Step title="How to import">
          <ImportOptions dataset={dataset} options={options} onChange={setOptions} />
          <Sender
            dataset={dataset}
            file={chosen.file}
            isReady={
              !lacksInput &&
              mistakeIn(options) === undefined &&
              (isTooLarge || (query.isSuccess && !query.isPlaceholderData))
            }
            queryOf={() => ({
              file_name: chosen.file.name,
              ...(preview && {
                format: preview.format,
                encoding: preview.encoding ?? undefined,
                delimiter: preview.delimiter ?? undefined,
                header: preview.header ?? undefined,
                sheet: preview.sheet ?? undefined,
                mapping: JSON.stringify(mapping ?? preview.mapping),
              }),
              mode: options.mode,
              on_error: options.onError,
              dedupe: options.dedupe ? "content" : undefined,
              max_removed:
                options.mode === "replace" && options.maxRemoved !== ""
                  ? Number(options.maxRemoved)
                  : undefined,
              // What a replace removes depends on what is there.
              base_revision: options.mode === "replace" ? dataset.revision : undefined,
              note: options.note.trim() || undefined,
            })}
          />
        </Step>
      )}
    </>
  );
}

/** Why there is no preview: what is wrong with the file, or the request that failed. */
function PreviewProblem({ error, onRetry }: { error: Error; onRetry: () => void }) {
  const errors = (error instanceof ApiError && error.status === 422 && error.problem?.errors) || [];
  const reasons = errors.filter(({ location }) => location === "body").map(({ message }) => message);
  if (reasons.length === 0) return <ProblemPanel error={error} onRetry={onRetry} />;
  return (
    <Alert
      role="alert"
      variant="outline"
      color="red"
      title="There is no preview of this file"
      data-testid="file-problem"
    >
      {reasons.map((reason) => (
        <Text key={reason} size="sm">
          {reason.charAt(0).toUpperCase() + reason.slice(1)}.
        </Text>
      ))}
    </Alert>
  );
}

function Step({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <section className={classes.step} aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

interface SenderProps {
  dataset: Dataset;
  file: File;
  isReady: boolean;
  queryOf: () => Parameters<ReturnType<typeof useUploadImport>>[0]["query"];
}

/** Sends the file, and then opens the import. */
function Sender({ dataset, file, isReady, queryOf }: SenderProps) {
  const upload = useUploadImport(dataset.id);
  const navigate = useNavigate();
  const [sent, setSent] = useState<number | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const abort = useRef<AbortController>(undefined);
  const address = `/p/${dataset.project_id}/datasets/${dataset.id}`;
  // The upload goes on on other pages of the product.
  const isHere = useRef(true);
  useEffect(() => {
    isHere.current = true;
    return () => {
      isHere.current = false;
    };
  }, []);
  const isSending = sent !== null;
  useEffect(() => {
    if (!isSending) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener("beforeunload", ask);
    return () => window.removeEventListener("beforeunload", ask);
  }, [isSending]);

  const send = async () => {
    const controller = new AbortController();
    abort.current = controller;
    setError(null);
    setSent(0);
    try {
      const { id } = await upload({ file, query: queryOf(), onProgress: setSent, signal: controller.signal });
      if (isHere.current) navigate(`${address}/imports/${id}`, { replace: true });
    } catch (failure) {
      if (!controller.signal.aborted) setError(failure as Error);
    } finally {
      setSent(null);
    }
  };
  if (isSending) {
    return (
      <Stack gap={6} mt="md" data-testid="upload">
        <Group justify="space-between" gap="xs">
          <Text size="sm">
            {sent < file.size
              ? `Sending: ${formatBytes(sent)} of ${formatBytes(file.size)}`
              : "File sent. Storing it…"}
          </Text>
          <Button variant="default" onClick={() => abort.current?.abort()}>
            Cancel upload
          </Button>
        </Group>
        <Progress value={(100 * Math.min(sent, file.size)) / file.size} aria-label="Upload" />
        <Text size="xs" c="dimmed">
          Keep this browser tab open until the file is sent; you can use other pages meanwhile. Then the
          import keeps running, and the dataset's tab <Link to={`${address}?tab=imports`}>Imports</Link> shows
          it.
        </Text>
      </Stack>
    );
  }
  return (
    <Stack gap="sm" mt="md">
      {error && <ProblemPanel error={error} />}
      <Group>
        <Button disabled={!isReady} onClick={() => void send()}>
          Import {file.name.length > 40 ? "the file" : file.name}
        </Button>
      </Group>
    </Stack>
  );
}
