const RELOADED = "looptrace.reloaded";
/** A reload longer ago than this was for another loss. */
const RELOADED_MS = 60_000;
/** How long the server may take to say whether it is there, in ms. */
const CHECK_MS = 5_000;

const lost = new WeakSet<object>();

/** Notes the errors of files of the UI that can't be loaded: a new version has others, or the connection broke. */
export function watchLostFiles(): void {
  window.addEventListener("vite:preloadError", (event) => lost.add(event.payload));
}

export function isLostFile(error: unknown): boolean {
  return typeof error === "object" && error !== null && lost.has(error);
}

/** Whether the page was reloaded for a lost file a moment ago: another time would not help. */
export function wasReloaded(): boolean {
  try {
    return Date.now() - Number(sessionStorage.getItem(RELOADED)) < RELOADED_MS;
  } catch {
    return true; // Without storage it might reload forever.
  }
}

/** Reloads the page if the server is there. Without it, the browser's own error would replace the page. */
export async function reloadPage(): Promise<void> {
  const answer = await fetch("/", { cache: "no-store", signal: AbortSignal.timeout(CHECK_MS) });
  if (!answer.ok) throw new Error(`the server responded with ${answer.status}`);
  try {
    sessionStorage.setItem(RELOADED, String(Date.now()));
  } catch {
    // Only the reader reloads then.
  }
  window.location.reload();
}
