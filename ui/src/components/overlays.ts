// A file of the bundle of its own, because no page shows these at first.
export { Drawer, Modal } from "@mantine/core";
