import { Group, Paper, Text, Title } from "@mantine/core";
import classes from "./SignInCard.module.css";

interface Props {
  title: string;
  context: string;
  children: React.ReactNode;
}

/** The page of setup and login: a card without navigation. */
export function SignInCard({ title, context, children }: Props) {
  return (
    <main className={classes.root}>
      <title>{`${title} · Looptrace`}</title>
      <div className={classes.column}>
        <Group gap={8} mb="lg" justify="center">
          <img src="/favicon.svg" width={24} height={24} alt="" />
          <Text fw={650} size="lg">
            Looptrace
          </Text>
        </Group>
        <Paper withBorder p="lg" radius="md" className={classes.card}>
          <Title order={1} size="h4">
            {title}
          </Title>
          <Text size="sm" c="dimmed" mb="md">
            {context}
          </Text>
          {children}
        </Paper>
      </div>
    </main>
  );
}
