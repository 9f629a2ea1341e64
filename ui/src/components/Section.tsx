import { Text, Title } from "@mantine/core";
import classes from "./Section.module.css";

interface Props {
  title: string;
  description: React.ReactNode;
  children: React.ReactNode;
}

/** One subject of a page of settings: its title at the left, its fields at the right. */
export function Section({ title, description, children }: Props) {
  return (
    <section className={classes.section}>
      <div>
        <Title order={2} size="h5">
          {title}
        </Title>
        <Text size="sm" c="dimmed">
          {description}
        </Text>
      </div>
      <div>{children}</div>
    </section>
  );
}
