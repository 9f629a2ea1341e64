import { afterEach, expect, it, vi } from "vitest";
import { client } from "./client";
import { forgetSessionSecret, sessionHeaders } from "./session";

const HEADER = "Looptrace-Session-Secret";

function stubStorage(): Map<string, string> {
  const stored = new Map<string, string>();
  vi.stubGlobal("localStorage", {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => stored.set(key, value),
    removeItem: (key: string) => stored.delete(key),
  });
  return stored;
}

afterEach(() => {
  forgetSessionSecret();
  vi.unstubAllGlobals();
});

it("keeps one secret until the session ends", () => {
  const stored = stubStorage();
  const first = sessionHeaders()[HEADER];
  expect(first).toMatch(/^[\w-]{43}$/);
  expect([...stored.values()]).toEqual([first]);
  expect(sessionHeaders()[HEADER]).toBe(first);
  forgetSessionSecret();
  expect(stored.size).toBe(0);
  expect(sessionHeaders()[HEADER]).not.toBe(first);
});

it("replaces what is no secret", () => {
  const stored = stubStorage();
  sessionHeaders();
  for (const key of stored.keys()) stored.set(key, "damaged");
  expect(sessionHeaders()[HEADER]).toMatch(/^[\w-]{43}$/);
});

it("has a secret without storage, too", () => {
  vi.stubGlobal("localStorage", undefined);
  expect(sessionHeaders()[HEADER]).toBe(sessionHeaders()[HEADER]);
});

it("is sent with every request", async () => {
  stubStorage();
  const sent: Request[] = [];
  vi.stubGlobal("fetch", (request: Request) => {
    sent.push(request);
    return Promise.resolve(new Response("{}", { headers: { "Content-Type": "application/json" } }));
  });
  await client.POST("/v1/login", { baseUrl: "http://looptrace", body: { email: "a", password: "b" } });
  expect(sent[0]?.headers.get(HEADER)).toBe(sessionHeaders()[HEADER]);
});
