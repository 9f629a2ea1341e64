import { ActionIcon, Burger, Drawer, Group, Kbd, UnstyledButton } from "@mantine/core";
import { useDisclosure, useHotkeys } from "@mantine/hooks";
import { IconKeyboard, IconSearch } from "@tabler/icons-react";
import { useEffect } from "react";
import { Outlet } from "react-router";
import { useKeys } from "@/components/useKeys";
import { rememberProject, useProject } from "@/components/useProject";
import { Navigation } from "./Navigation";
import { NotFound } from "./NotFound";
import { Palette } from "./Palette";
import { ProjectSwitcher } from "./ProjectSwitcher";
import classes from "./Shell.module.css";
import { Shortcuts } from "./Shortcuts";
import { UserMenu } from "./UserMenu";

/** The frame around every page of a project. */
export function Shell() {
  const project = useProject();
  const [menuOpen, menu] = useDisclosure(false);
  const [helpOpen, help] = useDisclosure(false);
  const [paletteOpen, palette] = useDisclosure(false);
  useKeys({ "?": help.open });
  // Also works while typing.
  useHotkeys([["mod+K", palette.toggle]], []);

  const projectId = project?.id;
  useEffect(() => {
    if (projectId) rememberProject(projectId);
  }, [projectId]);
  if (!project) return <NotFound />;

  return (
    <div className={classes.frame}>
      <a className={classes.skip} href="#main">
        Skip to content
      </a>
      <header className={classes.bar}>
        <Burger opened={menuOpen} onClick={menu.toggle} size="xs" aria-label="Navigation" />
        <ProjectSwitcher project={project} />
        <Group gap={4} wrap="nowrap">
          <ActionIcon variant="subtle" color="gray" onClick={palette.open} aria-label="Search">
            <IconSearch size={17} stroke={1.6} />
          </ActionIcon>
          <UserMenu onShortcuts={help.open} compact />
        </Group>
      </header>
      <aside className={classes.side}>
        <ProjectSwitcher project={project} />
        <UnstyledButton className={classes.search} onClick={palette.open} title="Search">
          <IconSearch size={15} stroke={1.6} aria-hidden="true" />
          <span>Search</span>
          <Kbd size="xs" aria-hidden="true">
            ⌘K
          </Kbd>
        </UnstyledButton>
        <Navigation projectId={project.id} />
        <Group className={classes.foot} gap={4} wrap="nowrap">
          <UserMenu onShortcuts={help.open} />
          <ActionIcon
            className={classes.help}
            variant="subtle"
            color="gray"
            onClick={help.open}
            aria-label="Keyboard shortcuts"
          >
            <IconKeyboard size={16} stroke={1.6} />
          </ActionIcon>
        </Group>
      </aside>
      <Drawer opened={menuOpen} onClose={menu.close} size={260} title="Looptrace">
        <Navigation projectId={project.id} onNavigate={menu.close} />
      </Drawer>
      <main id="main" className={classes.main} tabIndex={-1}>
        <Outlet key={project.id} />
      </main>
      {paletteOpen && <Palette project={project} onClose={palette.close} />}
      {helpOpen && <Shortcuts onClose={help.close} />}
    </div>
  );
}
