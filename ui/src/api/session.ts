/** The header of the API that binds a session to the secret. */
const HEADER = "Looptrace-Session-Secret";
const storageKey = "looptrace.session";

/** The secret of a browser that stores nothing: its session ends with the page. */
let unstored: string | undefined;

/**
 * The headers that every request to the API needs beside the session's cookie. Browsers send cookies to all ports of a host, and
 * accept them from all. The secret is known to the pages of this origin only: a cookie that leaked opens nothing without it, and the
 * API refuses a cookie that was planted beside it.
 */
export function sessionHeaders(): Record<string, string> {
  return { [HEADER]: sessionSecret() };
}

/** The secret of the session of this browser, and of the next one that it opens. All tabs share it. */
function sessionSecret(): string {
  try {
    const stored = localStorage.getItem(storageKey);
    if (stored && /^[\w-]{43}$/.test(stored)) return stored;
    const secret = newSecret();
    localStorage.setItem(storageKey, secret);
    return secret;
  } catch {
    unstored ??= newSecret();
    return unstored;
  }
}

/** 32 random bytes as Base64url. */
function newSecret(): string {
  const text = String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32)));
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Removes the secret of a session that has ended. The next one gets another. */
export function forgetSessionSecret(): void {
  unstored = undefined;
  try {
    localStorage.removeItem(storageKey);
  } catch {
    // Nothing was stored.
  }
}

/** Calls `onChange` when another tab has logged out, and so replaced the secret. */
export function watchSession(onChange: () => void): void {
  addEventListener("storage", ({ key }) => {
    if (key === storageKey || key === null) onChange();
  });
}
