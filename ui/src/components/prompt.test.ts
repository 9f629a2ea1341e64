import { describe, expect, it } from "vitest";
import { promptLabel, promptPath, readPromptGroup } from "./prompt";

const id = "0198d7a2-6f52-7c61-9a0e-3d1f0f6c1b11";

describe("promptLabel", () => {
  it("names the prompt and its version", () => {
    expect(promptLabel({ id, name: "support/triage", version: "3" })).toBe("support/triage v3");
    expect(promptLabel({ id: null, name: "triage", version: "warmer" })).toBe("triage warmer");
    expect(promptLabel({ id: null, name: "triage", version: null })).toBe("triage");
    expect(promptLabel({ id: "p", name: null, version: "1.2" })).toBe("p v1.2");
    expect(promptLabel({ id: null, name: null, version: "7" })).toBe("v7");
  });
});

describe("promptPath", () => {
  it("escapes what was recorded", () => {
    expect(promptPath("p", { id, name: "a/b?c&d", version: "3#" })).toBe(
      "/p/p/prompts/by-name?name=a%2Fb%3Fc%26d&version=3%23",
    );
    expect(promptPath("p", { id, name: null, version: null })).toBe(`/p/p/prompts/by-name?id=${id}`);
    expect(promptPath("p", { id: null, name: null, version: "7" })).toBeNull();
  });
});

describe("readPromptGroup", () => {
  it("splits at the last @", () => {
    expect(readPromptGroup("triage@3")).toEqual({ id: null, name: "triage", version: "3" });
    expect(readPromptGroup("me@home@3")).toEqual({ id: null, name: "me@home", version: "3" });
    expect(readPromptGroup("triage")).toEqual({ id: null, name: "triage", version: null });
    expect(readPromptGroup("@v7")).toEqual({ id: null, name: null, version: "v7" });
    expect(readPromptGroup(`${id}@1`)).toEqual({ id, name: null, version: "1" });
  });
});
