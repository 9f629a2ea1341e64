import type { DrawerProps, ModalProps } from "@mantine/core";
import { useEffect, useState } from "react";
import { onDemand } from "./onDemand";

const Modal = onDemand<ModalProps>(async () => (await import("./overlays")).Modal);
const Drawer = onDemand<DrawerProps>(async () => (await import("./overlays")).Drawer);

/** A dialog that is open while it is mounted. It returns the focus when it closes. */
export function Dialog(props: Omit<ModalProps, "opened">) {
  useReturnFocus();
  return <Modal opened {...props} />;
}

/** A panel at the right edge of the page, with the behavior of a Dialog. */
export function SidePanel(props: Omit<DrawerProps, "opened">) {
  useReturnFocus();
  return <Drawer opened position="right" {...props} />;
}

/** Modal only returns the focus if it stays mounted. */
function useReturnFocus() {
  // Read while rendering: a menu closes when the dialog opens.
  const [opener] = useState(() => openerOf(document.activeElement));
  useEffect(() => {
    // A dialog that replaces another one: the first has just returned the focus.
    const target = opener?.isConnected ? opener : document.activeElement;
    return () => {
      if (target instanceof HTMLElement && target.isConnected) target.focus({ preventScroll: true });
    };
  }, [opener]);
}

/** The element that opened the dialog. For a menu item it is the menu's button, because the item disappears. */
function openerOf(active: Element | null): Element | null {
  if (active === document.body) return null;
  const menu = active?.closest("[role=menu]");
  return menu ? document.getElementById(menu.getAttribute("aria-labelledby") ?? "") : active;
}
