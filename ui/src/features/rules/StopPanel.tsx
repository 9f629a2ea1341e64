import { Alert, Button } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import { Link } from "react-router";
import type { EvalRule, EvalRuleStop } from "@/api/types";
import { Ago } from "@/components/Ago";
import { reasonText } from "@/components/evaluation/progress";
import classes from "./Rules.module.css";

interface Props {
  rule: EvalRule;
  stop: EvalRuleStop;
  now: number;
  /** Missing if the user may not resume it. */
  onResume?: () => void;
}

/** Why a rule stopped by itself, and what to do. */
export function StopPanel({ rule, stop, now, onResume }: Props) {
  const { code, detail, remedy, at } = stop;
  const isOfProvider = /^(provider|model|budget)_/.test(code);
  return (
    <Alert
      className={classes.stop}
      role="alert"
      variant="outline"
      color="red"
      icon={<IconAlertTriangle size={18} />}
      title={`Stopped: ${reasonText(code)}`}
      data-testid="rule-stop"
    >
      <p>
        <bdi>{detail}</bdi>
      </p>
      <p>
        <strong>What to do:</strong> {remedy}
      </p>
      <div className={classes.stopActions}>
        {onResume && (
          <Button size="compact-sm" onClick={onResume}>
            Resume…
          </Button>
        )}
        {isOfProvider && (
          <Button
            size="compact-sm"
            variant="default"
            component={Link}
            to={`/p/${rule.project_id}/settings/providers`}
          >
            Open providers
          </Button>
        )}
        <span>
          It stopped <Ago time={at} now={now} />, and scores no runs until you resume it.
        </span>
      </div>
    </Alert>
  );
}
