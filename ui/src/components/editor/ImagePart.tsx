import { Button, FileButton, Group, Select, TextInput } from "@mantine/core";
import { useState } from "react";
import { formatBytes } from "@/components/format";
import { scan } from "@/components/template";
import type { Draft, DraftPart } from "./draft";
import classes from "./Editor.module.css";
import { ErrorText } from "./ErrorText";

interface Props {
  part: DraftPart & { kind: "image" };
  /** Names the part: "part 2 of message 1". */
  label: string;
  format: Draft["format"];
  takesFiles: boolean;
  onChange: (part: DraftPart) => void;
}

/** Images of files become part of the request. Providers take at most 20 MB, and most far less. */
const MAX_IMAGE_BYTES = 5_000_000;
/** What providers read. */
const IMAGE_TYPES = ["image/png", "image/jpeg", "image/webp", "image/gif"];

/** An image by its address, or the content of a file. */
export function ImagePart({ part, label, format, takesFiles, onChange }: Props) {
  const [error, setError] = useState<string>();
  const isFile = part.url.startsWith("data:");
  const read = async (file: File | null) => {
    if (!file) return;
    if (file.size > MAX_IMAGE_BYTES) {
      setError(
        `${file.name} is ${formatBytes(file.size)}; the limit is ${formatBytes(MAX_IMAGE_BYTES)}. Choose a smaller image.`,
      );
      return;
    }
    const url = await dataUrl(file).catch(() => null);
    if (url === null) setError(`${file.name} can't be read.`);
    else if (!IMAGE_TYPES.includes(file.type) || !(await isImage(url))) {
      setError(`${file.name} isn't an image that models can read. Choose a PNG, JPEG, WebP or GIF.`);
    } else {
      setError(undefined);
      onChange({ ...part, url });
    }
  };
  return (
    <>
      <Group gap={6} align="flex-start">
        {isFile ? (
          <div className={classes.file}>
            <img src={part.url} alt={`The chosen file, ${label}`} />
            <span className={classes.hint}>
              {/^data:([^;,]*)/.exec(part.url)?.[1]}, {formatBytes(sizeOf(part.url))}
            </span>
            <Button
              size="compact-xs"
              variant="subtle"
              color="gray"
              onClick={() => {
                setError(undefined);
                onChange({ ...part, url: "" });
              }}
            >
              Use an address
            </Button>
          </div>
        ) : (
          <TextInput
            size="xs"
            flex="1 1 150px"
            aria-label={`Image address, ${label}`}
            placeholder="{{image}} or https://…"
            value={part.url}
            onChange={(event) => {
              setError(undefined);
              onChange({ ...part, url: event.currentTarget.value });
            }}
            error={format === "mustache" ? scan(part.url).error?.message : undefined}
          />
        )}
        {takesFiles && (
          <FileButton onChange={(file) => void read(file)} accept={IMAGE_TYPES.join(",")}>
            {(button) => (
              <Button {...button} size="xs" variant="default" aria-label={`Choose a file, ${label}`}>
                File…
              </Button>
            )}
          </FileButton>
        )}
        <Select
          size="xs"
          w={100}
          aria-label={`Image detail, ${label}`}
          placeholder="Detail"
          data={[...new Set(["auto", "low", "high", ...(part.detail === "" ? [] : [part.detail])])]}
          value={part.detail || null}
          onChange={(detail) => onChange({ ...part, detail: detail ?? "" })}
          clearable
        />
      </Group>
      {error && <ErrorText>{error}</ErrorText>}
    </>
  );
}

/** The bytes of a data URL in base64. */
function sizeOf(url: string): number {
  const content = url.slice(url.indexOf(",") + 1).replace(/=+$/, "");
  return Math.floor((content.length * 3) / 4);
}

function dataUrl(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

/** Whether the browser can draw it: a name and a type prove nothing. */
async function isImage(url: string): Promise<boolean> {
  const image = document.createElement("img");
  image.src = url;
  return image.decode().then(
    () => true,
    () => false,
  );
}
