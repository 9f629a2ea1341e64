import { Stack } from "@mantine/core";
import { Page } from "@/components/Page";
import { Agents } from "./Agents";
import { Instrument } from "./Instrument";

/** How to record programs, and how to let agents read the runs. */
export function ConnectPage() {
  return (
    <Page title="Connect" context="Record your program, and let your coding agent read its runs.">
      <Stack gap="xl">
        <Instrument />
        <Agents />
      </Stack>
    </Page>
  );
}
