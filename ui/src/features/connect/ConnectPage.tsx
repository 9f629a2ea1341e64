import { Stack } from "@mantine/core";
import { Page } from "@/components/Page";
import { Agents } from "./Agents";
import { Instrument } from "./Instrument";

/** How programs are recorded here, and how agents read what was recorded. */
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
