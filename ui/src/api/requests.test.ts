import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { client, unwrap } from "./client";
import { ApiError, errorFromResponse, isOutage, isSilence } from "./problem";
import { fetchInTime, noteAnswer, noteLoss, noteOperation, silence } from "./requests";

/** A server that takes requests and never answers. */
function hang() {
  vi.stubGlobal(
    "fetch",
    (_: Request, { signal }: RequestInit) =>
      new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason))),
  );
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

/** After how many seconds a request to a server that hangs ends; null if it waits for longer than an hour. */
async function patience(operation: string): Promise<number | null> {
  hang();
  const begin = Date.now();
  let ended: number | null = null;
  const cancel = new AbortController();
  const [method, path] = operation.split(" ") as [string, string];
  const request = new Request("http://looptrace/", { method, signal: cancel.signal });
  noteOperation(request, path);
  const pending = fetchInTime(request).catch(() => {
    ended ??= Date.now();
  });
  await vi.advanceTimersByTimeAsync(3_600_000);
  const seconds = ended === null ? null : (ended - begin) / 1000;
  cancel.abort();
  await pending;
  return seconds;
}

describe("fetchInTime", () => {
  it.each([
    ["GET /v1/datasets", 12],
    ["GET /v1/me", 8],
    ["GET /v1/runs", 32],
    ["GET /v1/runs/stats", 32],
    ["GET /v1/runs/{run_id}/agent-view", 12],
    ["GET /v1/runs/{run_id}/diff/{other_run_id}", 32],
    ["PATCH /v1/projects/{project_id}", 62],
    ["DELETE /v1/projects/{project_id}", 1802],
    ["POST /v1/playground/completions", null],
  ])("%s", async (operation, seconds) => {
    expect(await patience(operation)).toBe(seconds);
  });

  it("leaves no timer after an answer", async () => {
    vi.stubGlobal("fetch", () => Promise.resolve(Response.json({ items: [] })));
    await unwrap(
      client.GET("/v1/datasets", { baseUrl: "http://looptrace", params: { query: { project_id: "p" } } }),
    );
    expect(vi.getTimerCount()).toBe(0);
  });

  it("waits for each operation as the contract says", async () => {
    hang();
    const pending = unwrap(
      client.GET("/v1/runs/stats", { baseUrl: "http://looptrace", params: { query: { project_id: "p" } } }),
    ).catch((error) => error);
    await vi.advanceTimersByTimeAsync(31_000);
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(isSilence(await pending)).toBe(true);
  });

  it("knows for how long a request has waited", async () => {
    hang();
    noteAnswer();
    await vi.advanceTimersByTimeAsync(1_000);
    const pending = fetchInTime(new Request("http://looptrace/v1/datasets")).catch(() => {});
    await vi.advanceTimersByTimeAsync(3_000);
    expect(silence()).toEqual({ waiting: 3_000, idle: 4_000 });
    noteAnswer();
    expect(silence()).toEqual({ waiting: 0, idle: 0 });
    await vi.advanceTimersByTimeAsync(60_000);
    await pending;
    noteLoss();
    expect(silence().idle).toBeGreaterThan(1_000_000);
  });
});

describe("a failed request", () => {
  it("is a silence after the deadline", async () => {
    vi.stubGlobal("fetch", () => Promise.reject(new DOMException("late", "TimeoutError")));
    const error = await unwrap(client.GET("/v1/me", { baseUrl: "http://looptrace" })).catch((error) => error);
    expect(error).toBeInstanceOf(ApiError);
    expect(isSilence(error) && isOutage(error)).toBe(true);
    expect(error.message).toBe("The server isn't answering");
  });

  it("is a silence if web finds the server silent", async () => {
    const problem = { code: "upstream_silent", status: 503, title: "Service Unavailable" };
    const headers = { "Content-Type": "application/problem+json", "Retry-After": "2" };
    vi.stubGlobal("fetch", () =>
      Promise.resolve(new Response(JSON.stringify(problem), { status: 503, headers })),
    );
    const error = await unwrap(client.GET("/v1/me", { baseUrl: "http://looptrace" })).catch((error) => error);
    expect(isSilence(error) && isOutage(error)).toBe(true);
    expect(error.message).toBe("The server isn't answering");
  });

  it("stays cancelled if it was", async () => {
    vi.stubGlobal("fetch", () => Promise.reject(new DOMException("gone", "AbortError")));
    const error = await unwrap(client.GET("/v1/me", { baseUrl: "http://looptrace" })).catch((error) => error);
    expect(error.name).toBe("AbortError");
    expect(isOutage(error)).toBe(false);
  });

  it.each([
    [503, { "Retry-After": "2" }, true],
    [503, {}, false],
    [502, {}, true],
    [500, {}, false],
    [404, {}, false],
  ])("with %d %o is an outage: %s", (status, headers, want) => {
    expect(isOutage(errorFromResponse(new Response(null, { status, headers }), null))).toBe(want);
  });
});
