import { Tooltip } from "@mantine/core";
import { IconFlag } from "@tabler/icons-react";
import { Link, useLocation } from "react-router";
import type { Run } from "@/api/types";
import { signalOf } from "@/components/signals";
import classes from "./RunHeader.module.css";

/** What looks wrong with the run. A click opens the step. */
export function SignalBadges({ run }: { run: Run }) {
  const { search } = useLocation();
  return run.signals?.map(({ signal, span_id: span, step }) => {
    const found = signalOf(signal);
    const params = new URLSearchParams(search);
    params.set("span", span);
    return (
      <Tooltip key={signal} label={`${found?.meaning} Step: ${step.name || "unnamed"}`} multiline maw={320}>
        <Link className={classes.replay} to={{ search: params.toString() }} data-testid="run-signal">
          <IconFlag size={12} aria-hidden="true" />
          {found?.label}
        </Link>
      </Tooltip>
    );
  });
}
