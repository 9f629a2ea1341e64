import { expect, it } from "vitest";
import { ApiError, errorFromResponse } from "./problem";
import { retryDelay, shouldRetry } from "./queryClient";

const noPlace = errorFromResponse(new Response(null, { status: 429, headers: { "Retry-After": "1" } }), {
  title: "Too Many Requests",
  status: 429,
  code: "too_much_at_once",
  request_id: "r",
});

it("asks again when the places of a user are free", () => {
  expect(shouldRetry(0, noPlace)).toBe(true);
  expect(retryDelay(0, noPlace)).toBe(1000);
  expect(shouldRetry(5, noPlace)).toBe(false);
});

it("does not repeat what is refused for good", () => {
  expect(shouldRetry(0, new ApiError(422, null, null, "Some values aren't valid"))).toBe(false);
});
