import { Menu, UnstyledButton, VisuallyHidden } from "@mantine/core";
import { IconCheck, IconPlus, IconSelector } from "@tabler/icons-react";
import { Link, useLocation } from "react-router";
import { useMe } from "@/api/identity";
import type { ProjectAccess } from "@/api/types";
import classes from "./ProjectSwitcher.module.css";
import { pageOf } from "./pages";

/** Switches to the same page of another project. */
export function ProjectSwitcher({ project }: { project: ProjectAccess }) {
  const projects = useMe().data?.projects ?? [];
  const page = pageOf(useLocation().pathname)?.path ?? "runs";
  return (
    <Menu width={260} position="bottom-start">
      <Menu.Target>
        <UnstyledButton className={classes.button}>
          <span className={classes.initial} aria-hidden="true">
            {project.name.slice(0, 1).toUpperCase()}
          </span>
          <VisuallyHidden>Project</VisuallyHidden>
          <span className={classes.names}>
            <span className={classes.name}>{project.name}</span>
            <span className={classes.organization}>{project.organization_name}</span>
          </span>
          <IconSelector className={classes.arrow} size={14} aria-hidden="true" />
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Projects</Menu.Label>
        {projects.map((item) => (
          <Menu.Item
            key={item.id}
            component={Link}
            to={`/p/${item.id}/${page}`}
            rightSection={item.id === project.id ? <IconCheck size={14} aria-label="current" /> : null}
          >
            {item.name}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item
          component={Link}
          to={`/p/${project.id}/settings#create`}
          leftSection={<IconPlus size={14} />}
        >
          New project
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
