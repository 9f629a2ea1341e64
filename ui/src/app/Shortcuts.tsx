import { Kbd, Modal, SimpleGrid, Text } from "@mantine/core";
import classes from "./Shortcuts.module.css";

const groups = [
  {
    title: "Everywhere",
    keys: [
      ["⌘K  Ctrl K", "go to anything"],
      ["/", "search, where there is a search"],
      ["?", "this overview"],
    ],
  },
  {
    title: "Runs",
    keys: [
      ["j  k", "next, previous run"],
      ["Enter", "open the run"],
      ["Space", "peek at the run, or close it"],
      ["x", "select the run"],
      ["e", "only errors, or all again"],
      ["r", "show what is new"],
    ],
  },
  {
    title: "Run",
    keys: [
      ["↑  ↓", "previous, next span"],
      ["←  →", "close, open"],
      ["n  p", "next, previous error"],
      ["Home  End", "first, last span"],
      ["/", "find spans"],
      ["1  2  3  4", "tree, transcript, graph, agent view"],
      ["+  -  0", "closer, wider, the whole run"],
      ["z", "zoom to the span"],
      ["⇧ ←  ⇧ →", "earlier, later"],
      ["c", "mark the critical path"],
      ["Enter", "read the span"],
      ["Esc", "back to the tree, to the list"],
    ],
  },
  {
    title: "Comparison",
    keys: [
      ["n  p", "next, previous difference"],
      ["x", "swap sides"],
    ],
  },
] as const;

interface Props {
  opened: boolean;
  onClose: () => void;
}

/** The overlay of the ? key. */
export function Shortcuts({ opened, onClose }: Props) {
  return (
    <Modal opened={opened} onClose={onClose} title="Keyboard shortcuts" size="lg">
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="xl">
        {groups.map((group) => (
          <section key={group.title}>
            <Text fw={600} mb="xs">
              {group.title}
            </Text>
            <dl className={classes.list}>
              {group.keys.map(([keys, what]) => (
                <div key={keys} className={classes.line}>
                  <dt>
                    {keys.split("  ").map((key) => (
                      <Kbd key={key} size="xs" mr={4}>
                        {key}
                      </Kbd>
                    ))}
                  </dt>
                  <dd>{what}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </SimpleGrid>
    </Modal>
  );
}
