import { Button } from "@mantine/core";
import { IconPlugConnectedX } from "@tabler/icons-react";
import { useOutage } from "@/api/outage";
import { type ApiError, isSilence } from "@/api/problem";
import { formatTime } from "@/components/format";
import classes from "./OutageBanner.module.css";

/** Says that shown data can't be refreshed, because the server or a part of it is away, and since when. Retries by itself. */
export function OutageBanner() {
  const { outage, retry } = useOutage();
  if (!outage) return null;
  const { error, since, isRetrying } = outage;
  const time = new Date(since);
  return (
    <section className={classes.banner} aria-label="Connection" data-testid="outage">
      <IconPlugConnectedX className={classes.icon} size={16} stroke={1.8} aria-hidden="true" />
      <p className={classes.text} role="alert">
        {whatOf(error)} You see data from{" "}
        <time dateTime={time.toISOString()} title={formatTime(time.toISOString())}>
          {clock.format(time)}
        </time>
        . The page keeps trying and updates by itself.
      </p>
      <Button variant="default" size="compact-sm" loading={isRetrying} onClick={retry}>
        Try again
      </Button>
    </section>
  );
}

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });

function whatOf(error: ApiError): string {
  if (error.problem?.detail) return error.problem.detail;
  if (isSilence(error)) return "The server isn't answering.";
  if (error.status === 0) return "The server can't be reached.";
  return `${error.message}.`;
}
