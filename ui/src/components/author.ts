import type { Author } from "@/api/types";

/** Who made a change: an address, or a key with its owner. */
export function authorName({ email, key }: Author): string {
  if (key !== null) return `${key} (key)`;
  return email ?? "a deleted user";
}
