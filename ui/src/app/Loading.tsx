import { Center, Loader, Stack, Text } from "@mantine/core";
import { Delayed } from "@/components/Delayed";

/** When the reader is told that it takes long, in ms. */
const LONG_MS = 3_000;

/** The page before anything of it is known. */
export function Loading() {
  return (
    <Center h="100%">
      <Delayed>
        <Stack align="center">
          <Loader size="sm" role="status" aria-label="Loading" />
          <Delayed by={LONG_MS}>
            <Text size="sm" c="dimmed">
              Still waiting for the server…
            </Text>
          </Delayed>
        </Stack>
      </Delayed>
    </Center>
  );
}
