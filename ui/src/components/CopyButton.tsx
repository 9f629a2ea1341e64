import { ActionIcon, Button, Tooltip } from "@mantine/core";
import { IconCheck, IconCopy, IconX } from "@tabler/icons-react";
import { useEffect, useState } from "react";
import { copyText } from "./clipboard";

interface Props {
  /** The text, or a function that builds it on demand. */
  value: string | (() => string);
  /** Names the text: "run id" gives "Copy run id". */
  what: string;
  /** Shows a label instead of an icon. */
  labelled?: boolean;
}

/** Copies a text and confirms it for two seconds. */
export function CopyButton({ value, what, labelled = false }: Props) {
  const [state, setState] = useState<"idle" | "copied" | "failed">("idle");
  useEffect(() => {
    if (state === "idle") return;
    const timer = setTimeout(() => setState("idle"), 2_000);
    return () => clearTimeout(timer);
  }, [state]);

  const label = state === "copied" ? "Copied" : state === "failed" ? "Couldn't copy" : `Copy ${what}`;
  const Shape = state === "copied" ? IconCheck : state === "failed" ? IconX : IconCopy;
  const copy = async (event: React.MouseEvent) => {
    event.stopPropagation();
    const done = await copyText(typeof value === "string" ? value : value());
    setState(done ? "copied" : "failed");
  };

  if (labelled) {
    return (
      <Button leftSection={<Shape size={14} />} variant="default" onClick={copy}>
        {label}
      </Button>
    );
  }
  return (
    <Tooltip label={label}>
      <ActionIcon aria-label={label} variant="subtle" color="gray" size="sm" onClick={copy}>
        <Shape size={14} stroke={1.8} />
      </ActionIcon>
    </Tooltip>
  );
}
