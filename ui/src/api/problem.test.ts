import { describe, expect, it } from "vitest";
import { errorFromNetwork, errorFromResponse, type Problem } from "./problem";
import { titleOf } from "./problemTitles";

describe("errorFromResponse", () => {
  it("keeps the problem, its fields and Retry-After", () => {
    const problem = {
      type: "about:blank",
      title: "Too Many Requests",
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

describe("titleOf", () => {
  const title = (status: number, code: string, location?: string) =>
    titleOf({
      type: "about:blank",
      title: "Unprocessable Entity",
      status,
      code,
      detail: "",
      ...(location ? { errors: [{ location, message: "no" }] } : {}),
    } as Problem);

  it("says what failed, by the code, else by the status", () => {
    expect(title(409, "name_taken")).toBe("The name is taken");
    expect(title(409, "new_code")).toBe("This isn't possible now");
    expect(title(418, "new_code")).toBe("Unprocessable Entity");
  });

  it("names the parameter that a model refuses", () => {
    expect(title(422, "parameter_refused", "body.model_config.temperature")).toBe(
      "The model refuses temperature",
    );
    expect(title(422, "parameter_refused", "body.tools")).toBe("The model refuses tools");
    expect(title(422, "parameter_refused", "body.model_config")).toBe("The model refuses a parameter");
    expect(title(422, "parameter_refused")).toBe("The model refuses a parameter");
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
