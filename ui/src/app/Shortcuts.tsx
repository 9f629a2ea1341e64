import { Kbd, Text } from "@mantine/core";
import { Dialog } from "@/components/Dialog";
import { type Shortcuts as Keys, pages } from "./pages";
import classes from "./Shortcuts.module.css";

const groups: { label: string; shortcuts?: Keys }[] = [
  {
    label: "Everywhere",
    shortcuts: [
      ["⌘K  Ctrl K", "search and go to anything"],
      ["?", "show these shortcuts"],
      ["t", "show relative or absolute times"],
    ],
  },
  ...pages,
  {
    label: "Run",
    shortcuts: [
      ["↑  ↓", "previous, next span"],
      ["←  →", "collapse, expand"],
      ["n  p", "next, previous error"],
      ["Home  End", "first, last span"],
      ["/", "find spans"],
      ["1  2  3  4", "tree, transcript, graph, agent view"],
      ["+  -  0", "zoom in, zoom out, whole run"],
      ["z", "zoom to the span"],
      ["⇧ ←  ⇧ →", "earlier, later"],
      ["c", "show the critical path"],
      ["Enter", "go to the span's details"],
      ["Esc", "back to the tree, then to the list"],
    ],
  },
  {
    label: "Comparison",
    shortcuts: [
      ["n  p", "next, previous difference"],
      ["x", "swap sides"],
      ["Esc", "back to the first run"],
    ],
  },
];

/** The help that the ? key opens. */
export function Shortcuts({ onClose }: { onClose: () => void }) {
  return (
    <Dialog onClose={onClose} title="Keyboard shortcuts" size="xl">
      <div className={classes.columns}>
        {groups.map(
          ({ label, shortcuts }) =>
            shortcuts && (
              <section key={label} className={classes.group}>
                <Text fw={600} mb={4}>
                  {label}
                </Text>
                <dl className={classes.list}>
                  {shortcuts.map(([keys, action]) => (
                    <div key={keys} className={classes.line}>
                      <dt>
                        {keys.split("  ").map((key) => (
                          <Kbd key={key} size="xs" mr={4}>
                            {key}
                          </Kbd>
                        ))}
                      </dt>
                      <dd>{action}</dd>
                    </div>
                  ))}
                </dl>
              </section>
            ),
        )}
      </div>
    </Dialog>
  );
}
