import { Button, Group, Stack } from "@mantine/core";
import { useEffect, useRef } from "react";
import { Link } from "react-router";
import type { Dataset, RunItemPreview, RunSkipped, RunsAdded } from "@/api/types";
import classes from "./AddToDatasetDialog.module.css";
import { formatCount, formatRuns } from "./format";
import { JsonTree } from "./JsonTree";
import type { Json } from "./json";
import { RecordedText } from "./RecordedText";
import { groupSkipped } from "./runItems";

interface PreviewsProps {
  previews: readonly RunItemPreview[];
  /** They are of an earlier choice. */
  isStale: boolean;
}

/** The items of the first runs, or why they make none. */
export function ItemPreviews({ previews, isStale }: PreviewsProps) {
  if (previews.length === 0) return <p className={classes.hint}>No runs.</p>;
  return (
    <ul className={classes.items} data-stale={isStale || undefined}>
      {previews.map((item) => (
        <li
          key={item.run_id}
          className={classes.item}
          data-testid="item-preview"
          data-skipped={item.skipped !== null}
        >
          <strong className={classes.itemName}>{item.name || "unnamed"}</strong>
          {item.skipped !== null && <p className={classes.skipped}>Skipped: {item.skipped}</p>}
          <Part title="Input" value={item.input as Json} />
          <Part title="Reference output" value={item.reference_output as Json} />
          {Object.keys(item.metadata).length > 0 && <Part title="Metadata" value={item.metadata as Json} />}
        </li>
      ))}
    </ul>
  );
}

function Part({ title, value }: { title: string; value: Json }) {
  if (value === null || value === undefined) return null;
  return (
    <div>
      <span className={classes.part}>{title}</span>
      {typeof value === "string" ? (
        <RecordedText text={value} what={title.toLowerCase()} plain />
      ) : (
        <JsonTree value={value} what={title.toLowerCase()} open={4} framed={false} />
      )}
    </div>
  );
}

/** What adding the runs would do. */
export function Plan({ plan, projectId }: { plan: RunsAdded; projectId: string }) {
  return (
    <>
      <span>
        {formatRuns(plan.selected)}: {formatCount(plan.added)} new
        {plan.unchanged > 0 && `, ${formatCount(plan.unchanged)} in the dataset already`}
        {plan.skipped.length > 0 && `, ${formatCount(plan.skipped.length)} skipped`}.
      </span>
      <Reasons skipped={plan.skipped} projectId={projectId} />
    </>
  );
}

interface AddedProps {
  added: RunsAdded;
  dataset: Dataset;
  projectId: string;
  onClose: () => void;
}

/** What was added. */
export function Added({ added, dataset, projectId, onClose }: AddedProps) {
  const close = useRef<HTMLButtonElement>(null);
  // The button that had the focus is gone.
  useEffect(() => close.current?.focus(), []);
  return (
    <Stack gap="md" data-testid="added">
      <div role="status" className={classes.status}>
        <span>
          {added.added === 0
            ? "Nothing added."
            : `Added ${added.added === 1 ? "1 item" : `${formatCount(added.added)} items`} to ${dataset.name}, in revision ${added.revision}.`}
          {added.unchanged > 0 && ` ${formatCount(added.unchanged)} were in the dataset already.`}
          {added.skipped.length > 0 && ` ${formatRuns(added.skipped.length)} skipped:`}
        </span>
        <Reasons skipped={added.skipped} projectId={projectId} />
      </div>
      <Group justify="flex-end">
        <Button ref={close} variant="default" onClick={onClose}>
          Close
        </Button>
        <Button component={Link} to={`/p/${projectId}/datasets/${dataset.id}`}>
          Open dataset
        </Button>
      </Group>
    </Stack>
  );
}

/** More reasons are counted. */
const MAX_REASONS = 5;

function Reasons({ skipped, projectId }: { skipped: readonly RunSkipped[]; projectId: string }) {
  const groups = groupSkipped(skipped);
  if (groups.length === 0) return null;
  return (
    <ul className={classes.reasons}>
      {groups.slice(0, MAX_REASONS).map(({ reason, runIds }) => (
        <li key={reason}>
          {formatRuns(runIds.length)}: {reason} <Link to={`/p/${projectId}/runs/${runIds[0]}`}>Show run</Link>
        </li>
      ))}
      {groups.length > MAX_REASONS && <li>{formatCount(groups.length - MAX_REASONS)} other reasons</li>}
    </ul>
  );
}
