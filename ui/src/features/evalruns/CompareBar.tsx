import { Button, Group, Text } from "@mantine/core";
import { IconScale } from "@tabler/icons-react";
import { Link, useNavigate } from "react-router";
import { useCreateComparison } from "@/api/comparisons";
import type { EvalRun } from "@/api/types";
import { ProblemPanel } from "@/components/ProblemPanel";
import classes from "./EvalRuns.module.css";
import { comparisonOf, inOrder, originText } from "./evalRuns";
import { rankingPath, whyNotRanked } from "./ranking";

interface Props {
  projectId: string;
  selected: EvalRun[];
  /** Whether a comparison of two can be started. */
  mayWrite: boolean;
  onClear: () => void;
}

/** What can be done with the selected eval-runs: two to six can be compared at once, two in a comparison of their own. */
export function CompareBar({ projectId, selected, mayWrite, onClear }: Props) {
  const create = useCreateComparison(projectId);
  const navigate = useNavigate();
  const [one, other, third] = selected;
  const pair = one && other && !third ? inOrder(one, other) : null;
  const why = whyNotRanked(selected);
  const compare = () => {
    if (pair)
      create.mutate(comparisonOf(...pair), {
        onSuccess: ({ id }) => navigate(`/p/${projectId}/comparisons/${id}`),
      });
  };
  const names = pair
    ? `A: ${pair[0].name} (${originText(pair[0])}) · B: ${pair[1].name} (${originText(pair[1])})`
    : `${selected.length} eval-run${selected.length === 1 ? "" : "s"} selected.`;
  const ranked = [...selected].sort((x, y) => Date.parse(x.created_at) - Date.parse(y.created_at));
  return (
    <section className={classes.bar} aria-label="Selected eval-runs" data-testid="compare-bar">
      <Group gap="xs">
        <Text size="sm" role="status">
          {names} {why}
        </Text>
        {pair && mayWrite ? (
          <Button
            leftSection={<IconScale size={14} />}
            disabled={why !== null}
            loading={create.isPending}
            onClick={compare}
          >
            Compare
          </Button>
        ) : why === null ? (
          <Button
            component={Link}
            to={rankingPath(projectId, ranked)}
            leftSection={<IconScale size={14} />}
            data-testid="rank"
          >
            Compare
          </Button>
        ) : (
          <Button leftSection={<IconScale size={14} />} disabled>
            Compare
          </Button>
        )}
        <Button variant="default" onClick={onClear}>
          Clear selection
        </Button>
      </Group>
      {create.error && <ProblemPanel error={create.error} />}
    </section>
  );
}
