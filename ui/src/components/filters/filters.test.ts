import { describe, expect, it } from "vitest";
import {
  areFiltering,
  chips,
  isSameQuery,
  nextOrder,
  readFilters,
  sharedParams,
  toggleOnlyFailed,
  toggleParam,
  toQuery,
  viewParams,
  viewQuery,
  withoutFilters,
  withoutParams,
  withParam,
  withSource,
  withTimeRange,
  withTraces,
} from "./filters";

const read = (query: string) => readFilters(new URLSearchParams(query));
const day = { window_seconds: 86_400 };

describe("readFilters and toQuery", () => {
  it.each([
    ["", { project_id: "p", ...day }],
    ["range=all", { project_id: "p" }],
    [
      "range=all&start_before=2026-03-01T00:00:00Z",
      { project_id: "p", start_before: "2026-03-01T00:00:00.000Z" },
    ],
    ["status=error&status=running", { project_id: "p", ...day, status: ["running", "error"] }],
    ["status=nonsense&range=5y&min_duration_ms=abc", { project_id: "p", ...day }],
    ["kind=llm&kind=llm&kind=Bad Kind", { project_id: "p", ...day, kind: ["llm"] }],
    ["search=%20paris%20", { project_id: "p", ...day, search: "paris" }],
    ["range=24h", { project_id: "p", window_seconds: 86_400 }],
    ["start_after=2026-03-01T00:00:00Z", { project_id: "p", start_after: "2026-03-01T00:00:00.000Z" }],
    ["start_after=soon", { project_id: "p", ...day }],
    ["traces=other", { project_id: "p", ...day, traces: "other" }],
    ["traces=all", { project_id: "p", ...day, traces: "all" }],
    ["traces=genai", { project_id: "p", ...day }],
    ["traces=plain", { project_id: "p", ...day }],
    ["source=evaluation", { project_id: "p", ...day, source: "evaluation" }],
    ["source=all", { project_id: "p", ...day, source: "all" }],
    ["source=user", { project_id: "p", ...day }],
    ["source=batch", { project_id: "p", ...day }],
    ["replayability=llm&replayability=full", { project_id: "p", ...day, replayability: ["full", "llm"] }],
    ["replayability=some", { project_id: "p", ...day }],
    ["has_score=true", { project_id: "p", ...day, has_score: true }],
    ["has_score=false", { project_id: "p", ...day, has_score: false }],
    ["has_score=many", { project_id: "p", ...day }],
    [
      "model=gpt-4o&session_id=s&user_id=u&tag=t&environment=prod&min_duration_ms=500&min_cost_usd=0.5",
      {
        project_id: "p",
        ...day,
        model: "gpt-4o",
        session_id: "s",
        user_id: "u",
        tag: "t",
        environment: "prod",
        min_duration_ms: 500,
        min_cost_usd: 0.5,
      },
    ],
    [
      "metadata%5Bregion%5D=eu&metadata%5Ba.b%5D=1&metadata%5B%5D=x&metadata%5Bempty%5D=",
      { project_id: "p", ...day, metadata: { region: "eu", "a.b": "1" } },
    ],
  ])("%s", (query, want) => expect(toQuery("p", read(query))).toEqual(want));
});

describe("chips", () => {
  it("names each filter and its parameter", () => {
    expect(
      chips(
        read(
          "outcome=recovered&status=error&kind=llm&replayability=llm&range=7d&model=gpt-4o&min_duration_ms=500&search=x&metadata%5Btier%5D=pro&has_score=false",
        ),
      ),
    ).toEqual([
      { param: "outcome", value: "recovered", label: "recovered" },
      { param: "status", value: "error", label: "status: error" },
      { param: "kind", value: "llm", label: "kind: llm" },
      { param: "replayability", value: "llm", label: "replayable: single model calls" },
      { param: "model", label: "model: gpt-4o" },
      { param: "has_score", label: "has scores: no" },
      { param: "metadata[tier]", label: "tier: pro" },
      { param: "min_duration_ms", label: "duration ≥ 500 ms" },
    ]);
  });
});

describe("withTraces", () => {
  it.each([
    ["", "all", "traces=all"],
    ["traces=all&search=x", "other", "traces=other&search=x"],
    ["traces=all&search=x", "genai", "search=x"],
  ] as const)("%s to %s", (query, traces, want) => {
    expect(withTraces(new URLSearchParams(query), traces).toString()).toBe(want);
  });
  it("has a chip only if it is not the default", () => {
    expect(chips(read("traces=genai"))).toEqual([]);
    expect(chips(read("traces=other"))).toEqual([{ param: "traces", label: "without GenAI spans" }]);
    expect(chips(read("traces=all"))).toEqual([{ param: "traces", label: "all traces" }]);
  });
});

describe("withSource", () => {
  it.each([
    ["", "replay", "source=replay"],
    ["source=all&search=x", "playground", "source=playground&search=x"],
    ["source=all&search=x", "user", "search=x"],
  ] as const)("%s to %s", (query, source, want) => {
    expect(withSource(new URLSearchParams(query), source).toString()).toBe(want);
  });
  it("has a chip only if it is not the default", () => {
    expect(chips(read("source=user"))).toEqual([]);
    expect(chips(read("source=replay"))).toEqual([{ param: "source", label: "source: replay" }]);
    expect(chips(read("source=all"))).toEqual([{ param: "source", label: "all sources" }]);
  });
});

describe("areFiltering", () => {
  it.each([
    ["", false],
    ["group_by=model&order=cost_usd&search=+", false],
    ["search=x", true],
    ["has_score=true", true],
  ])("%s: %s", (query, want) => expect(areFiltering(read(query))).toBe(want));
});

describe("nextOrder", () => {
  it.each([
    [null, "cost_usd", "-cost_usd"],
    ["-cost_usd", "cost_usd", "cost_usd"],
    ["cost_usd", "cost_usd", null],
    ["-cost_usd", "duration_ms", "-duration_ms"],
    [null, "start_time", "start_time"],
    ["start_time", "start_time", null],
  ] as const)("%s, %s", (order, key, want) => expect(nextOrder(order, key)).toBe(want));
});

describe("address changes", () => {
  const params = new URLSearchParams("status=ok&search=x");
  it.each([
    ["set", withParam(params, "model", "m"), "status=ok&search=x&model=m"],
    ["drop", withParam(params, "search", null), "status=ok"],
    ["add a value", toggleParam(params, "status", "error"), "search=x&status=ok&status=error"],
    ["drop a value", toggleParam(params, "status", "ok"), "search=x"],
    ["only failed", toggleOnlyFailed(params), "status=ok&search=x&outcome=failed"],
    ["all again", toggleOnlyFailed(new URLSearchParams("outcome=failed")), ""],
    ["preset", withTimeRange(new URLSearchParams("start_after=a"), { preset: "1h" }), "range=1h"],
    ["all time", withTimeRange(new URLSearchParams("start_after=a"), { preset: null }), "range=all"],
    [
      "custom",
      withTimeRange(new URLSearchParams("range=1h"), { preset: null, after: "a", before: "b" }),
      "start_after=a&start_before=b",
    ],
  ])("%s", (_, got, want) => expect(got.toString()).toBe(want));
});

describe("withoutFilters", () => {
  it.each([
    ["status=error&search=x&range=7d&order=cost_usd", "range=7d&order=cost_usd"],
    ["start_after=2026-03-01T00:00:00Z&group_by=model", "group_by=model"],
  ])("%s", (query, want) => expect(withoutFilters(new URLSearchParams(query)).toString()).toBe(want));
});

describe("sharedParams", () => {
  it("keeps what all lists know", () => {
    const params = new URLSearchParams(
      "status=error&status=ok&search=x&range=all&metadata[a]=b&order=cost_usd&group_by=model&fingerprint=f&find=y",
    );
    expect(decodeURIComponent(sharedParams(params).toString())).toBe(
      "status=error&status=ok&search=x&range=all&metadata[a]=b",
    );
  });
});

describe("withoutParams", () => {
  it("removes only the parameters of the filters", () => {
    const params = new URLSearchParams(
      "status=error&status=ok&range=7d&metadata[a]=b&group_by=model&search=seat",
    );
    expect(withoutParams(params, chips(readFilters(params))).toString()).toBe(
      "range=7d&group_by=model&search=seat",
    );
  });
});

describe("saved views", () => {
  const params = (query: string) => new URLSearchParams(query);
  it("always have their time range", () => {
    expect(viewQuery(params("status=error&model=m"))).toBe("model=m&range=24h&status=error");
    expect(viewQuery(params("range=7d&kind=llm"))).toBe("kind=llm&range=7d");
    expect(viewQuery(params("start_after=2026-03-01T00:00:00Z"))).toBe(
      "start_after=2026-03-01T00%3A00%3A00Z",
    );
  });
  it("show all time if they are older than the default range", () => {
    expect(toQuery("p", readFilters(viewParams("status=error")))).toEqual({
      project_id: "p",
      status: ["error"],
    });
    expect(viewParams("range=24h").toString()).toBe("range=24h");
    expect(viewParams("start_before=2026-03-01T00:00:00Z").has("range")).toBe(false);
  });
  it("are the same as an address with the same filters and range", () => {
    expect(isSameQuery("range=24h&status=error", params("status=error"))).toBe(true);
    expect(isSameQuery("status=error", params("status=error"))).toBe(false);
    expect(isSameQuery("status=error", params("status=error&range=all"))).toBe(true);
    expect(isSameQuery("range=7d", params("range=7d"))).toBe(true);
  });
});
