import { Menu, UnstyledButton, VisuallyHidden } from "@mantine/core";
import { IconCheck, IconPlus, IconSelector } from "@tabler/icons-react";
import { Fragment, useState } from "react";
import { Link, useLocation } from "react-router";
import { useMe } from "@/api/identity";
import type { ProjectAccess } from "@/api/types";
import { onDemand } from "@/components/onDemand";
import type { NewItem } from "./NewDialog";
import classes from "./ProjectSwitcher.module.css";
import { pageOf } from "./pages";
import { creatableBy, projectGroups } from "./switcher";

const NewDialog = onDemand(async () => (await import("./NewDialog")).NewDialog);

/**
 * Switches to the same page of another project. Also creates projects, workspaces and organizations. Typing moves to
 * the next item with these letters; the palette searches.
 */
export function ProjectSwitcher({ project }: { project: ProjectAccess }) {
  const { organizations = [], projects = [] } = useMe().data ?? {};
  const page = pageOf(useLocation().pathname)?.path ?? "runs";
  const [newItem, setNewItem] = useState<NewItem | null>(null);
  const groups = projectGroups({ organizations, projects });
  const creatable = creatableBy(organizations);
  return (
    <>
      <Menu width={280} position="bottom-start">
        <Menu.Target>
          <UnstyledButton className={classes.button}>
            <span className={classes.initial} aria-hidden="true">
              {project.name.slice(0, 1).toUpperCase()}
            </span>
            <VisuallyHidden>Project</VisuallyHidden>
            <span className={classes.names}>
              <span className={classes.name}>{project.name}</span>
              <span className={classes.organization}>
                {project.organization_name} · {project.workspace_name}
              </span>
            </span>
            <IconSelector className={classes.arrow} size={14} aria-hidden="true" />
          </UnstyledButton>
        </Menu.Target>
        <Menu.Dropdown>
          <div className={classes.list}>
            {groups.map((group) => (
              <Fragment key={group.workspaceId}>
                <Menu.Label className={classes.group}>
                  {group.organizationName} · {group.workspaceName}
                </Menu.Label>
                {group.projects.map((item) => (
                  <Menu.Item
                    key={item.id}
                    component={Link}
                    to={`/p/${item.id}/${page}`}
                    rightSection={
                      item.id === project.id ? <IconCheck size={14} aria-label="current" /> : null
                    }
                  >
                    {item.name}
                  </Menu.Item>
                ))}
                {group.projects.length === 0 &&
                  (creatable.workspaces.some(({ id }) => id === group.workspaceId) ? (
                    <Menu.Item
                      c="dimmed"
                      onClick={() => setNewItem({ kind: "project", parentId: group.workspaceId })}
                    >
                      No projects yet. Create one…
                    </Menu.Item>
                  ) : (
                    <Menu.Item disabled>No projects yet</Menu.Item>
                  ))}
              </Fragment>
            ))}
          </div>
          {creatable.workspaces.length > 0 && (
            <>
              <Menu.Divider />
              <Menu.Item
                leftSection={<IconPlus size={14} />}
                onClick={() =>
                  setNewItem({
                    kind: "project",
                    parentId: creatable.workspaces.find(({ id }) => id === project.workspace_id)?.id,
                  })
                }
              >
                New project…
              </Menu.Item>
            </>
          )}
          {creatable.organizations.length > 0 && (
            <Menu.Item
              leftSection={<IconPlus size={14} />}
              onClick={() =>
                setNewItem({
                  kind: "workspace",
                  parentId: creatable.organizations.find(({ id }) => id === project.organization_id)?.id,
                })
              }
            >
              New workspace…
            </Menu.Item>
          )}
          {creatable.organization && (
            <Menu.Item
              leftSection={<IconPlus size={14} />}
              onClick={() => setNewItem({ kind: "organization" })}
            >
              New organization…
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      {newItem && <NewDialog key={newItem.kind} item={newItem} creatable={creatable} onChange={setNewItem} />}
    </>
  );
}
