import { Group, Text, Title } from "@mantine/core";
import classes from "./Page.module.css";

interface Props {
  title: string;
  /** One line of context under the title. */
  context?: React.ReactNode;
  actions?: React.ReactNode;
  children: React.ReactNode;
}

/** A page with a title, a line of context, actions at the right and a column of content. */
export function Page({ title, context, actions, children }: Props) {
  return (
    <div className={classes.scroll}>
      <title>{`${title} · Looptrace`}</title>
      <div className={classes.column}>
        <Group justify="space-between" align="flex-start" mb="lg" gap="sm">
          <div>
            <Title order={1} size="h4">
              {title}
            </Title>
            {context && (
              <Text size="sm" c="dimmed">
                {context}
              </Text>
            )}
          </div>
          {actions}
        </Group>
        {children}
      </div>
    </div>
  );
}
