import { describe, expect, it } from "vitest";
import type { Key } from "@/api/types";
import { expiryAfter, keyState, sortKeys } from "./state";

const now = Date.parse("2026-03-01T00:00:00Z");

describe("keyState", () => {
  it.each([
    [{ expires_at: null, revoked_at: null }, "active"],
    [{ expires_at: "2026-03-02T00:00:00Z", revoked_at: null }, "active"],
    [{ expires_at: "2026-02-01T00:00:00Z", revoked_at: null }, "expired"],
    [{ expires_at: "2026-03-02T00:00:00Z", revoked_at: "2026-02-01T00:00:00Z" }, "revoked"],
  ])("%j → %s", (key, want) => expect(keyState(key, now)).toBe(want));
});

describe("sortKeys", () => {
  it("puts active keys first, newest first", () => {
    const key = (id: string, created_at: string, revoked_at: string | null): Key => ({
      id,
      project_id: "p",
      name: id,
      public_id: id,
      scopes: [],
      created_at,
      created_by: null,
      last_used_at: null,
      last_used_ip: null,
      expires_at: null,
      revoked_at,
    });
    const keys = [
      key("old", "2026-01-01T00:00:00Z", null),
      key("gone", "2026-02-20T00:00:00Z", "2026-02-21T00:00:00Z"),
      key("new", "2026-02-01T00:00:00Z", null),
    ];
    expect(sortKeys(keys, now).map((item) => item.id)).toEqual(["new", "old", "gone"]);
  });
});

describe("expiryAfter", () => {
  it("adds days, and returns null for never", () => {
    expect(expiryAfter(null, now)).toBeNull();
    expect(expiryAfter(30, now)).toBe("2026-03-31T00:00:00.000Z");
  });
});
