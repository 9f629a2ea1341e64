import { describe, expect, it } from "vitest";
import { errorFromNetwork, errorFromResponse } from "./problem";

describe("errorFromResponse", () => {
  it("keeps the problem, its fields and Retry-After", () => {
    const problem = {
      type: "about:blank",
      title: "Too many attempts",
      status: 429,
      code: "throttled",
      request_id: "r1",
      errors: [{ location: "body.email", message: "is unknown" }],
    };
    const error = errorFromResponse(
      new Response(null, { status: 429, headers: { "Retry-After": "7" } }),
      problem,
    );
    expect(error.status).toBe(429);
    expect(error.message).toBe("Too many attempts");
    expect(error.problem?.request_id).toBe("r1");
    expect(error.retryAfterSeconds).toBe(7);
    expect(error.fieldMessage("body.email")).toBe("is unknown");
    expect(error.fieldMessage("body.password")).toBeUndefined();
  });

  it("shows the status if the body is no problem", () => {
    const error = errorFromResponse(new Response(null, { status: 502 }), "<html>");
    expect(error.problem).toBeNull();
    expect(error.message).toContain("502");
    expect(error.retryAfterSeconds).toBeNull();
  });
});

describe("errorFromNetwork", () => {
  it("has status 0 and the cause", () => {
    const cause = new TypeError("Failed to fetch");
    const error = errorFromNetwork(cause);
    expect(error.status).toBe(0);
    expect(error.cause).toBe(cause);
  });
});
