import { ApiError, errorFromNetwork, errorFromResponse } from "./problem";
import { sessionHeaders } from "./session";

/**
 * Saves the response of a GET request as a file, which the browser keeps on disk if it is large. A link could neither send the
 * session's secret nor tell of an error.
 */
export async function download(url: string, fileName: string, signal?: AbortSignal): Promise<void> {
  const response = await fetch(url, { headers: sessionHeaders(), signal: signal ?? null }).catch(
    (error: unknown) => {
      throw errorFromNetwork(error);
    },
  );
  if (!response.ok) throw errorFromResponse(response, await response.json().catch(() => null));
  const content = await response.blob().catch((cause: unknown) => {
    const error = new ApiError(0, null, null, "The download broke off before the end");
    error.cause = cause;
    throw error;
  });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = fileName.replace(/[\\/:*?"<>|]+/g, "_");
  link.click();
  URL.revokeObjectURL(link.href);
}
