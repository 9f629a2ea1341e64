import { Group, Skeleton, Stack } from "@mantine/core";
import { Delayed } from "@/components/Delayed";

const lines = Array.from({ length: 12 }, (_, index) => index);

/** Placeholder of the page while the run loads. */
export function RunSkeleton() {
  return (
    <Delayed>
      <Stack p="md" gap="lg" aria-busy="true">
        <Skeleton h={18} w={320} />
        <Group align="flex-start" gap="xl" wrap="nowrap">
          <Lines />
          <Stack gap="sm" flex={1}>
            <Skeleton h={14} w={200} />
            <Skeleton h={120} />
            <Skeleton h={80} />
          </Stack>
        </Group>
      </Stack>
    </Delayed>
  );
}

/** Placeholder of the tree while the spans load. */
export function SpansSkeleton() {
  return (
    <Delayed>
      <Stack p="md" aria-busy="true">
        <Lines />
      </Stack>
    </Delayed>
  );
}

function Lines() {
  return (
    <Stack gap="sm" w="45%">
      {lines.map((line) => (
        <Skeleton key={line} h={10} ml={(line % 4) * 16} w={`${70 - (line % 5) * 8}%`} />
      ))}
    </Stack>
  );
}
