import { writeJson } from "@/api/json";
import type { MessagePart } from "@/api/types";

/** A message part as the page shows it. */
export type ShownPart =
  | { kind: "text"; text: string }
  | { kind: "reasoning"; text: string }
  | { kind: "call"; name: string; id: string | null; args: unknown }
  | { kind: "response"; id: string | null; result: unknown }
  | { kind: "image"; base64: string; mime: string; bytes: number }
  | { kind: "link"; address: string; what: string }
  | { kind: "binary"; mime: string; bytes: number }
  | { kind: "other"; part: MessagePart };

/** Image types to show. SVG is excluded, because it is a document. */
const IMAGES = /^image\/(png|jpe?g|gif|webp)$/;

/** Reads a part. One with an unknown or unexpected shape stays as it is. */
export function showPart(part: MessagePart): ShownPart {
  const text = typeof part.content === "string" ? part.content : null;
  switch (part.type) {
    case "text":
      return text === null ? { kind: "other", part } : { kind: "text", text };
    case "reasoning":
      return text === null ? { kind: "other", part } : { kind: "reasoning", text };
    case "tool_call":
      return {
        kind: "call",
        name: textOr(part.name, "unknown"),
        id: textOr(part.id, null),
        args: part.arguments,
      };
    case "tool_call_response":
      return { kind: "response", id: textOr(part.id, null), result: part.response ?? part.result };
    case "uri":
      return typeof part.uri === "string"
        ? showAddress(part.uri, textOr(part.modality, textOr(part.mime_type, "file")))
        : { kind: "other", part };
    case "blob":
      return text === null ? { kind: "other", part } : showBlob(text, textOr(part.mime_type, "unknown type"));
    default:
      return { kind: "other", part };
  }
}

/** A string as it is, anything else as JSON. */
export function asText(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : writeJson(value);
}

function showAddress(address: string, what: string): ShownPart {
  const data = /^data:([^;,]{1,100});base64,/.exec(address);
  return data ? showBlob(address.slice(data[0].length), data[1] ?? "") : { kind: "link", address, what };
}

/** The bytes stay encoded until the reader asks for the image: there may be many. */
function showBlob(base64: string, mime: string): ShownPart {
  const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
  const bytes = Math.floor(((base64.length - padding) * 3) / 4);
  return IMAGES.test(mime) ? { kind: "image", base64, mime, bytes } : { kind: "binary", mime, bytes };
}

function textOr<T>(value: unknown, otherwise: T): string | T {
  return typeof value === "string" && value !== "" ? value : otherwise;
}
