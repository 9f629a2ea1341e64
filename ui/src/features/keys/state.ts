import type { Key } from "@/api/types";

export type KeyState = "active" | "expired" | "revoked";

/** Whether a key works now. */
export function keyState(key: Pick<Key, "expires_at" | "revoked_at">, now: number): KeyState {
  if (key.revoked_at) return "revoked";
  if (key.expires_at && Date.parse(key.expires_at) <= now) return "expired";
  return "active";
}

/** Active keys first, then newest first. */
export function sortKeys(keys: readonly Key[], now: number): Key[] {
  const inactive = (key: Key) => (keyState(key, now) === "active" ? 0 : 1);
  return [...keys].sort((a, b) => inactive(a) - inactive(b) || b.created_at.localeCompare(a.created_at));
}

/** The time `days` from now; null means never. */
export function expiryAfter(days: number | null, now: number): string | null {
  return days === null ? null : new Date(now + days * 86_400_000).toISOString();
}
