import { Alert, Text } from "@mantine/core";
import { IconAlertTriangle, IconCheck, IconInfoCircle } from "@tabler/icons-react";
import { Link } from "react-router";
import { ApiError, whyOf } from "@/api/problem";
import type { Prompt } from "@/api/types";

interface Props {
  isModified: boolean;
  keptAt: string | null;
  cannotKeep: boolean;
  source: number;
  latest: number;
}

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const dayAndClock = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

/** Where the draft is, and what it starts with. */
export function EditorState({ isModified, keptAt, cannotKeep, source, latest }: Props) {
  const from = source !== latest && source !== 0 ? ` from v${source}` : "";
  if (isModified && cannotKeep) {
    return (
      <Text component="span" inherit c="var(--lt-error-text)">
        <IconAlertTriangle size={13} aria-hidden="true" /> This browser can't keep the draft. Save it before
        you leave.
      </Text>
    );
  }
  if (isModified && keptAt !== null) {
    const isToday = new Date(keptAt).toDateString() === new Date().toDateString();
    const time = (isToday ? clock : dayAndClock).format(new Date(keptAt));
    return (
      <span title="Kept in this browser until you save or discard it">
        Unsaved draft{from} from {time}
      </span>
    );
  }
  if (isModified) return <span>Unsaved draft{from}</span>;
  if (latest === 0) return <span>No version yet</span>;
  return (
    <span>
      v{source}
      {source === latest ? ", the latest" : `; the latest is v${latest}`}
    </span>
  );
}

/** What the last save did. */
export interface Saved {
  version: number;
  isNew: boolean;
  /** The alias that moved to it. */
  moved?: { alias: string; from: number | null };
  /** Why the alias did not move. */
  error?: Error;
}

export function SavedNotice({ saved, prompt }: { saved: Saved; prompt: Prompt }) {
  const { version, isNew, moved, error } = saved;
  const conflict = error instanceof ApiError && error.status === 412;
  return (
    <>
      <Alert
        variant="light"
        color={isNew ? "green" : "blue"}
        p="xs"
        c="var(--lt-text)"
        icon={isNew ? <IconCheck size={16} /> : <IconInfoCircle size={16} />}
        data-testid="saved"
      >
        {isNew ? `Saved as v${version}.` : `Nothing saved: v${version} has the same content.`}
        {moved &&
          ` ${moved.alias} is now v${version}${moved.from === null ? "" : moved.from === version ? "" : `, was v${moved.from}`}.`}
        {!isNew && !moved && version !== prompt.latest_version && " Move an alias to it to use it."}{" "}
        <Link to="?tab=versions">All versions</Link>
      </Alert>
      {error && (
        <Alert variant="light" color="red" p="xs" c="var(--lt-text)" icon={<IconAlertTriangle size={16} />}>
          {conflict
            ? "The alias was not moved, because someone moved it meanwhile."
            : `The alias was not moved: ${whyOf(error)}`}{" "}
          <Link to="?tab=aliases">Aliases</Link>
        </Alert>
      )}
    </>
  );
}
