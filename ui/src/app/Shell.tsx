import { ActionIcon, Burger, Group, Kbd, UnstyledButton, VisuallyHidden } from "@mantine/core";
import { useDisclosure, useHotkeys } from "@mantine/hooks";
import { IconKeyboard, IconSearch } from "@tabler/icons-react";
import { useEffect, useState } from "react";
import { Link, Outlet, useParams } from "react-router";
import { onDemand } from "@/components/onDemand";
import { toggleAbsoluteTimes, useAbsoluteTimes } from "@/components/times";
import { useKeys } from "@/components/useKeys";
import { rememberProject, useProject } from "@/components/useProject";
import { Navigation } from "./Navigation";
import { NotFound } from "./NotFound";
import { ProjectSwitcher } from "./ProjectSwitcher";
import { SampleBanner } from "./SampleBanner";
import classes from "./Shell.module.css";
import { UserMenu } from "./UserMenu";

const NavigationDrawer = onDemand(async () => (await import("./NavigationDrawer")).NavigationDrawer);
const Palette = onDemand(async () => (await import("./Palette")).Palette);
const Shortcuts = onDemand(async () => (await import("./Shortcuts")).Shortcuts);

/** The frame around every page. A user without a project has no navigation. */
export function Shell() {
  const { projectId: wantedId } = useParams();
  const project = useProject();
  const [menuOpen, menu] = useDisclosure(false);
  // Once loaded, the drawer stays, for its transition.
  const [menuUsed, setMenuUsed] = useState(false);
  if (menuOpen && !menuUsed) setMenuUsed(true);
  const [helpOpen, help] = useDisclosure(false);
  const [paletteOpen, palette] = useDisclosure(false);
  const isAbsolute = useAbsoluteTimes();
  const [announced, announce] = useState("");
  useKeys({
    "?": help.open,
    t: () => announce(toggleAbsoluteTimes() ? "Absolute times" : "Relative times"),
  });
  // Also works while typing.
  useHotkeys([["mod+K", () => project && palette.toggle()]], []);

  const projectId = project?.id;
  useEffect(() => {
    if (projectId) rememberProject(projectId);
  }, [projectId]);
  if (!project && wantedId !== undefined) return <NotFound />;

  return (
    <div className={classes.frame} data-absolute-times={isAbsolute || undefined}>
      <a className={classes.skip} href="#main">
        Skip to content
      </a>
      <header className={classes.bar}>
        {project ? (
          <>
            <Burger opened={menuOpen} onClick={menu.toggle} size="xs" aria-label="Navigation" />
            <ProjectSwitcher project={project} />
          </>
        ) : (
          <Brand />
        )}
        <Group gap={4} wrap="nowrap">
          {project && (
            <ActionIcon variant="subtle" color="gray" onClick={palette.open} aria-label="Search">
              <IconSearch size={17} stroke={1.6} />
            </ActionIcon>
          )}
          <UserMenu onShortcuts={help.open} compact />
        </Group>
      </header>
      <aside className={classes.side}>
        {project ? (
          <>
            <ProjectSwitcher project={project} />
            <UnstyledButton className={classes.search} onClick={palette.open} title="Search">
              <IconSearch size={15} stroke={1.6} aria-hidden="true" />
              <span>Search</span>
              <Kbd size="xs" aria-hidden="true">
                ⌘K
              </Kbd>
            </UnstyledButton>
            <Navigation projectId={project.id} />
          </>
        ) : (
          <Brand />
        )}
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
      {project && menuUsed && (
        <NavigationDrawer projectId={project.id} opened={menuOpen} onClose={menu.close} />
      )}
      <main id="main" className={classes.main} tabIndex={-1}>
        {project?.sample && wantedId !== undefined && <SampleBanner project={project} />}
        <div className={classes.page}>
          <Outlet key={projectId} />
        </div>
      </main>
      <VisuallyHidden role="status">{announced}</VisuallyHidden>
      {paletteOpen && project && <Palette project={project} onClose={palette.close} />}
      {helpOpen && <Shortcuts onClose={help.close} />}
    </div>
  );
}

/** The way home for a user without a project. */
function Brand() {
  return (
    <Link to="/" className={classes.brand}>
      <img src="/favicon.svg" width={20} height={20} alt="" />
      <span>Looptrace</span>
    </Link>
  );
}
