import { Drawer } from "@mantine/core";
import { Navigation } from "./Navigation";

interface Props {
  projectId: string;
  opened: boolean;
  onClose: () => void;
}

/** The navigation on narrow screens. */
export function NavigationDrawer({ projectId, opened, onClose }: Props) {
  return (
    <Drawer opened={opened} onClose={onClose} size={260} title="Looptrace">
      <Navigation projectId={projectId} onNavigate={onClose} />
    </Drawer>
  );
}
