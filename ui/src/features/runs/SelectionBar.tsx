import { Button, CloseButton } from "@mantine/core";
import { IconArrowsDiff, IconDatabasePlus, IconTrash } from "@tabler/icons-react";
import { Link } from "react-router";
import type { Run } from "@/api/types";
import { formatCount } from "@/components/format";
import { useKeys } from "@/components/useKeys";
import classes from "./SelectionBar.module.css";

interface Props {
  projectId: string;
  selected: ReadonlyMap<string, Run>;
  onClear: () => void;
  /** Missing if the user may not change datasets. */
  onAdd?: () => void;
  /** Missing if the user may not delete runs. */
  onDelete?: () => void;
}

/** Actions on the selected runs. */
export function SelectionBar({ projectId, selected, onClear, onAdd, onDelete }: Props) {
  useKeys({ Escape: onClear });
  const runs = [...selected.values()].sort((a, b) => a.start_time.localeCompare(b.start_time));
  const [older, newer] = runs;
  return (
    <section className={classes.root} aria-label="Selection" data-testid="selection">
      <span className={classes.count} role="status">
        {formatCount(selected.size)} selected
      </span>
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
          title="Select two runs to compare them"
        >
          Compare
        </Button>
      )}
      {onAdd && (
        <Button variant="default" leftSection={<IconDatabasePlus size={14} />} onClick={onAdd}>
          Add to dataset…
        </Button>
      )}
      {onDelete && (
        <Button variant="default" leftSection={<IconTrash size={14} />} onClick={onDelete}>
          Delete…
        </Button>
      )}
      <CloseButton size="sm" aria-label="Clear the selection" onClick={onClear} />
    </section>
  );
}
