import { Text, Title } from "@mantine/core";
import classes from "./SettingsPage.module.css";

interface Props {
  id?: string;
  title: string;
  what: string;
  children: React.ReactNode;
}

/** One subject of the settings: what it is about at the left, the controls at the right. */
export function Section({ id, title, what, children }: Props) {
  return (
    <section id={id} className={classes.section}>
      <div>
        <Title order={2} size="h5">
          {title}
        </Title>
        <Text size="sm" c="dimmed">
          {what}
        </Text>
      </div>
      <div>{children}</div>
    </section>
  );
}
