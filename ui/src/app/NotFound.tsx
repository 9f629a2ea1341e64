import { Button, Center, Stack, Text, Title } from "@mantine/core";
import { Link } from "react-router";

/** An address that leads nowhere. */
export function NotFound() {
  return (
    <Center h="100%" p="md">
      <title>Not found · Looptrace</title>
      <Stack align="center" gap="xs">
        <Title order={1} size="h3">
          Nothing here
        </Title>
        <Text c="dimmed">The address is wrong, or what it showed is not in a project of yours.</Text>
        <Button component={Link} to="/" variant="default" mt="xs">
          Back to the runs
        </Button>
      </Stack>
    </Center>
  );
}
