import { describe, expect, it } from "vitest";
import type { OrganizationAccess, ProjectAccess } from "@/api/types";
import { creatableBy, projectGroups } from "./switcher";

const organizations: OrganizationAccess[] = [
  {
    id: "o1",
    name: "Acme",
    role: "admin",
    workspaces: [
      { id: "w1", name: "Default", role: "admin" },
      { id: "w2", name: "Empty", role: "admin" },
    ],
  },
  { id: "o2", name: "Guest", role: null, workspaces: [{ id: "w3", name: "Shared", role: "viewer" }] },
];

function project(name: string, workspace: string): ProjectAccess {
  return {
    id: name,
    name,
    sample: false,
    workspace_id: workspace,
    workspace_name: "",
    organization_id: "",
    organization_name: "",
    role: "viewer",
    scopes: [],
  };
}

describe("projectGroups", () => {
  it("has every workspace, in the order of the organizations", () => {
    const projects = [project("checkout", "w1"), project("search", "w1"), project("bots", "w3")];
    const shown = projectGroups({ organizations, projects }).map(
      (group) =>
        `${group.organizationName}/${group.workspaceName}: ${group.projects.map(({ name }) => name)}`,
    );
    expect(shown).toEqual(["Acme/Default: checkout,search", "Acme/Empty: ", "Guest/Shared: bots"]);
  });
});

describe("creatableBy", () => {
  it("lets admins create projects and workspaces where they are admins", () => {
    expect(creatableBy(organizations)).toEqual({
      workspaces: [
        { id: "w1", name: "Acme · Default" },
        { id: "w2", name: "Acme · Empty" },
      ],
      organizations: [{ id: "o1", name: "Acme" }],
      organization: false,
    });
  });
  it("lets owners create organizations", () => {
    expect(creatableBy([{ id: "o", name: "Own", role: "owner", workspaces: [] }]).organization).toBe(true);
  });
});
