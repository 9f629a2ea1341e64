import type { ChosenFile } from "@/api/imports";

/** So much of a text file is previewed. */
const SAMPLE_BYTES = 1024 * 1024;
/** Larger Parquet and Excel files can't be previewed, because a preview needs the whole file. */
export const MAX_WHOLE_BYTES = 64 * 1024 * 1024;
/** As much as the API accepts. */
export const MAX_BYTES = 2 * 1024 * 1024 * 1024;

/** A chosen file, and what a preview of it can read. */
export interface Choice {
  chosen: ChosenFile;
  /** The sample is only the beginning of the file. */
  isPartial: boolean;
  /** A preview would need more of the file than the API accepts. */
  isTooLarge: boolean;
}

/** Reads the beginning of a file to tell what a preview needs of it. Throws if the file can't be read. */
export async function choose(file: File): Promise<Choice> {
  const start = new Uint8Array(await file.slice(0, 4).arrayBuffer());
  const needsWhole = isParquet(start) || isZip(start);
  const isPartial = !needsWhole && file.size > SAMPLE_BYTES;
  return {
    chosen: {
      id: `${file.name} ${file.size} ${file.lastModified}`,
      file,
      sample: isPartial ? file.slice(0, SAMPLE_BYTES) : file,
    },
    isPartial,
    isTooLarge: needsWhole && file.size > MAX_WHOLE_BYTES,
  };
}

function isParquet(start: Uint8Array): boolean {
  return String.fromCharCode(...start) === "PAR1";
}

/** Excel files are ZIP archives. */
function isZip(start: Uint8Array): boolean {
  return String.fromCharCode(...start) === "PK\u0003\u0004";
}
