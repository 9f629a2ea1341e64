import { ApiError, errorFromNetwork, errorFromResponse } from "./problem";

/** Saves the response of a GET request as a file. Unlike a link, it throws the error of a request that fails. */
export async function download(url: string, fileName: string): Promise<void> {
  const response = await fetch(url).catch((error: unknown) => {
    throw errorFromNetwork(error);
  });
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
