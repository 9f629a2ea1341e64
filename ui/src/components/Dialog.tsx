import { Modal, type ModalProps } from "@mantine/core";
import { useEffect, useState } from "react";

/** A dialog that is open for as long as it is mounted; closed, it gives the focus back. */
export function Dialog(props: Omit<ModalProps, "opened">) {
  useReturnFocus();
  return <Modal opened {...props} />;
}

/** Modal does so only where it stays mounted: without this, the keyboard would begin again at the top of the page. */
function useReturnFocus() {
  // While it is drawn: a menu closes as the dialog opens.
  const [opener] = useState(() => openerOf(document.activeElement));
  useEffect(() => {
    // Where it takes the place of another dialog, that one has just given the focus back.
    const target = opener?.isConnected ? opener : document.activeElement;
    return () => {
      if (target instanceof HTMLElement && target.isConnected) target.focus({ preventScroll: true });
    };
  }, [opener]);
}

/** What opens a dialog: of an item of a menu, which goes, the menu's button; null where nothing has the focus. */
function openerOf(active: Element | null): Element | null {
  if (active === document.body) return null;
  const menu = active?.closest("[role=menu]");
  return menu ? document.getElementById(menu.getAttribute("aria-labelledby") ?? "") : active;
}
