import { Button } from "@mantine/core";
import { useNavigate } from "react-router";
import { useFindGoodRun } from "@/api/runs";
import type { RunFilter } from "@/api/types";
import classes from "./CompareWithGood.module.css";
import { formatTime } from "./format";

interface Props {
  projectId: string;
  /** A run that failed. */
  run: { run_id: string; name: string; start_time: string };
  /** Where to look for the other run. */
  traces: RunFilter["traces"];
  source: RunFilter["source"];
}

/** Compares a failed run with the last run of its name that started before it and ended well, or says that there is none. */
export function CompareWithGood({ projectId, run, traces, source }: Props) {
  const find = useFindGoodRun();
  const navigate = useNavigate();
  const compare = async () => {
    const { data } = await find.mutateAsync({
      project_id: projectId,
      name: run.name,
      start_before: run.start_time,
      traces,
      source,
    });
    if (data[0]) navigate(`/p/${projectId}/diff/${data[0].run_id}/${run.run_id}`);
  };
  // The list takes no empty name.
  if (run.name === "") return null;
  const isMissing = find.data && find.data.data.length === 0;
  return (
    <>
      <Button
        size="compact-sm"
        variant="default"
        loading={find.isPending}
        onClick={() => void compare().catch(() => undefined)}
      >
        Compare with last good run
      </Button>
      <span className={classes.answer} role="status">
        {find.error && "The last good run couldn't be found. Try again."}
        {isMissing &&
          (find.data.partial && find.data.searched_to
            ? `No run of this name succeeded between ${formatTime(find.data.searched_to)} and this one. Older runs weren't searched.`
            : "No earlier run of this name succeeded.")}
      </span>
    </>
  );
}
