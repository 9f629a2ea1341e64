import { Center, Loader } from "@mantine/core";
import { Delayed } from "@/components/Delayed";

/** The page before anything of it is known. */
export function Loading() {
  return (
    <Center h="100%">
      <Delayed>
        <Loader size="sm" role="status" aria-label="Loading" />
      </Delayed>
    </Center>
  );
}
