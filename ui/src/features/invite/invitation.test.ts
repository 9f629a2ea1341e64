import { describe, expect, it } from "vitest";
import { ApiError } from "@/api/problem";
import type { Me, ProjectAccess } from "@/api/types";
import { endOf, startOf } from "./invitation";

function problem(status: number, code: string): ApiError {
  const detail = "Ask for a new one, please.";
  return new ApiError(
    status,
    { type: "about:blank", title: "Conflict", status, code, detail, request_id: "r" },
    null,
    "Conflict",
  );
}

describe("endOf", () => {
  it.each([
    [problem(409, "invitation_expired"), "Invitation expired", "Ask for a new one, please."],
    [problem(409, "invitation_revoked"), "Invitation revoked", "Ask for a new one, please."],
    [problem(409, "invitation_accepted"), "Invitation already used", "Ask for a new one, please."],
    [
      problem(404, "not_found"),
      "Invitation not found",
      "Check that you opened the whole link, or ask for a new one.",
    ],
  ])("%s", (error, title, advice) => expect(endOf(error)).toEqual({ title, advice }));

  it.each([[null], [new Error("broken")], [problem(500, "internal")], [problem(409, "something_else")]])(
    "leaves %s to the page",
    (error) => expect(endOf(error)).toBeNull(),
  );
});

describe("startOf", () => {
  const project = (id: string, organization_name: string, workspace_name: string): ProjectAccess => ({
    id,
    name: id,
    sample: false,
    workspace_id: `${organization_name} ${workspace_name}`,
    workspace_name,
    organization_id: organization_name,
    organization_name,
    role: "viewer",
    scopes: [],
  });
  const me: Me = {
    user: null,
    key: null,
    organizations: [],
    projects: [project("own", "Own", "Default"), project("a", "Acme", "A"), project("b", "Acme", "B")],
  };
  const to = (workspace_name: string | null) =>
    startOf(me, {
      organization_name: "Acme",
      workspace_name,
      role: "viewer",
      email: null,
      created_by: null,
      expires_at: "2026-01-01T00:00:00Z",
    });
  it.each([
    [null, "/p/a/runs"],
    ["B", "/p/b/runs"],
    ["without projects", "/"],
  ])("workspace %s → %s", (workspace, want) => expect(to(workspace)).toBe(want));
});
