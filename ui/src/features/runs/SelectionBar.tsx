import { Button, CloseButton } from "@mantine/core";
import { IconArrowsDiff, IconDatabasePlus, IconFlask, IconTrash } from "@tabler/icons-react";
import { Link } from "react-router";
import type { DeletionTarget } from "@/api/deletion";
import { queryText } from "@/api/query";
import { useRunStats } from "@/api/stats";
import type { RunFilter } from "@/api/types";
import type { AddedRuns } from "@/components/AddToDatasetDialog";
import { formatCount } from "@/components/format";
import { newBatchPath } from "@/components/replayStart";
import { useKeys } from "@/components/useKeys";
import classes from "./SelectionBar.module.css";
import { NO_SELECTION, type Selection, selectionText } from "./selection";

interface Props {
  projectId: string;
  filter: RunFilter;
  selection: Selection;
  /** Whether the list has runs that are not loaded. */
  hasMore: boolean;
  onSelection: (selection: Selection) => void;
  /** Whether the user may replay runs. */
  mayReplay: boolean;
  /** Missing if the user may not change datasets. */
  onAdd?: (runs: AddedRuns) => void;
  /** Missing if the user may not delete runs. */
  onDelete?: (runs: DeletionTarget) => void;
}

/** A batch of replays takes no more runs that are named. */
const MOST_TESTED = 200;

/** Actions on the selected runs, which may be all that match the filter. */
export function SelectionBar(props: Props) {
  const { projectId, filter, selection, hasMore, mayReplay, onSelection, onAdd, onDelete } = props;
  const onClear = () => onSelection(NO_SELECTION);
  useKeys({ Escape: onClear });
  const { data: stats, isPlaceholderData } = useRunStats(filter);
  const matching = stats && !isPlaceholderData && !stats.partial ? stats.total.count : null;
  const isAll = selection.of === "all";
  const runs = isAll
    ? []
    : [...selection.runs.values()].sort((a, b) => a.start_time.localeCompare(b.start_time));
  const [older, newer] = runs;
  const [typical] = selection.runs.keys();
  const { project_id: _, ...withoutProject } = filter;
  const target = isAll ? { filter } : { run_ids: [...selection.runs.keys()] };
  return (
    <section className={classes.root} aria-label="Selection" data-testid="selection">
      <span className={classes.count} role="status">
        {selectionText(selection, matching, hasMore)}
      </span>
      {selection.of === "loaded" && hasMore && (matching === null || matching > selection.runs.size) && (
        <Button variant="subtle" onClick={() => onSelection({ ...selection, of: "all" })}>
          Select all {matching === null ? "" : `${formatCount(matching)} `}that match
        </Button>
      )}
      {runs.length === 2 && older && newer ? (
        <Button
          component={Link}
          to={`/p/${projectId}/diff/${older.run_id}/${newer.run_id}`}
          variant="default"
          leftSection={<IconArrowsDiff size={14} />}
        >
          Compare
        </Button>
      ) : (
        <Button
          variant="default"
          leftSection={<IconArrowsDiff size={14} />}
          disabled
          title={
            isAll ? "All matching runs can't be compared. Select two." : "Select two runs to compare them"
          }
        >
          Compare
        </Button>
      )}
      {mayReplay && (isAll ? typical !== undefined : runs.length <= MOST_TESTED) && (
        <Button
          component={Link}
          to={newBatchPath(
            projectId,
            isAll ? { run_filter: queryText(withoutProject) } : { run_ids: runs.map(({ run_id: id }) => id) },
            typical,
          )}
          variant="default"
          leftSection={<IconFlask size={14} />}
        >
          Test an edit
        </Button>
      )}
      {onAdd && (
        <Button variant="default" leftSection={<IconDatabasePlus size={14} />} onClick={() => onAdd(target)}>
          Add to dataset…
        </Button>
      )}
      {onDelete && (
        <Button variant="default" leftSection={<IconTrash size={14} />} onClick={() => onDelete(target)}>
          Delete…
        </Button>
      )}
      <CloseButton size="sm" aria-label="Clear the selection" onClick={onClear} />
    </section>
  );
}
