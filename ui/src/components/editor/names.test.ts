import { describe, expect, it } from "vitest";
import { aliasError, folderOf, lastPart, nameError, pathOf } from "./names";

describe("nameError", () => {
  it.each(["", "a", "support/triage", "a.b_c-d/1", "0", "a".repeat(128)])("accepts %s", (name) =>
    expect(nameError(name)).toBeNull(),
  );
  it.each(["-a", "/a", "a/", "a//b", "a b", "é", "a".repeat(129)])("refuses %s", (name) =>
    expect(nameError(name)).not.toBeNull(),
  );
});

describe("aliasError", () => {
  it.each(["", "production", "v1.2_x-y", "Latest"])("accepts %s", (alias) =>
    expect(aliasError(alias)).toBeNull(),
  );
  it.each(["latest", "a/b", ".a", "a".repeat(65)])("refuses %s", (alias) =>
    expect(aliasError(alias)).not.toBeNull(),
  );
});

describe("folders", () => {
  it("splits a name", () => {
    expect([folderOf("a/b/c"), lastPart("a/b/c")]).toEqual(["a/b", "c"]);
    expect([folderOf("c"), lastPart("c")]).toEqual(["", "c"]);
  });
  it("lists the folders above", () => {
    expect(pathOf("a/b")).toEqual([
      { name: "a", folder: "a" },
      { name: "b", folder: "a/b" },
    ]);
    expect(pathOf("")).toEqual([]);
  });
});
