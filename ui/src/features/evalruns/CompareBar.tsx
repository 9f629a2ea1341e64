import { Button, Group, Text } from "@mantine/core";
import { IconScale } from "@tabler/icons-react";
import { useNavigate } from "react-router";
import { useCreateComparison } from "@/api/comparisons";
import type { EvalRun } from "@/api/types";
import { ProblemPanel } from "@/components/ProblemPanel";
import classes from "./EvalRuns.module.css";
import { comparisonOf, inOrder, originText, whyNotComparable } from "./evalRuns";

interface Props {
  projectId: string;
  selected: EvalRun[];
  onClear: () => void;
}

/** What can be done with the selected eval-runs: two of them can be compared. */
export function CompareBar({ projectId, selected, onClear }: Props) {
  const create = useCreateComparison(projectId);
  const navigate = useNavigate();
  const [one, other] = selected;
  const pair = one && other ? inOrder(one, other) : null;
  const why = pair ? whyNotComparable(...pair) : "Select a second one to compare them.";
  const compare = () => {
    if (pair)
      create.mutate(comparisonOf(...pair), {
        onSuccess: ({ id }) => navigate(`/p/${projectId}/comparisons/${id}`),
      });
  };
  return (
    <section className={classes.bar} aria-label="Selected eval-runs" data-testid="compare-bar">
      <Group gap="xs">
        <Text size="sm" role="status">
          {pair
            ? `A: ${pair[0].name} (${originText(pair[0])}) · B: ${pair[1].name} (${originText(pair[1])})`
            : "1 eval-run selected."}{" "}
          {why}
        </Text>
        <Button
          leftSection={<IconScale size={14} />}
          disabled={why !== null}
          loading={create.isPending}
          onClick={compare}
        >
          Compare
        </Button>
        <Button variant="default" onClick={onClear}>
          Clear selection
        </Button>
      </Group>
      {create.error && <ProblemPanel error={create.error} />}
    </section>
  );
}
