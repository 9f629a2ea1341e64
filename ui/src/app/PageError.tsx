import { Alert, Button, Group, Text } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import { useEffect, useState } from "react";
import { useRouteError } from "react-router";
import { PageMessage } from "@/components/PageMessage";
import { ProblemPanel } from "@/components/ProblemPanel";
import { Loading } from "./Loading";
import { isLostFile, reloadPage, wasReloaded } from "./lostFiles";

/** Replaces a page that failed to load or render. */
export function PageError() {
  const error = useRouteError();
  if (isLostFile(error)) return <LostFile />;
  return (
    <PageMessage>
      <ProblemPanel
        error={error instanceof Error ? error : new Error("This page failed")}
        onRetry={() => window.location.reload()}
      />
    </PageMessage>
  );
}

/** How often a server that is away is asked again, in ms. */
const AGAIN_MS = 5_000;

/** A file of the page can't be loaded. A reload gets the files of a new version; if that was tried, the reader decides. */
function LostFile() {
  const [reloaded] = useState(wasReloaded);
  const [isAway, setAway] = useState(false);
  const [isTrying, setTrying] = useState(!reloaded);
  const reload = async () => {
    setTrying(true);
    try {
      await reloadPage();
    } catch {
      setAway(true);
      setTrying(false);
    }
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, and again while the server is away
  useEffect(() => {
    if (reloaded && !isAway) return;
    if (!isAway) void reload();
    const timer = setInterval(() => void reload(), AGAIN_MS);
    return () => clearInterval(timer);
  }, [reloaded, isAway]);
  if (!reloaded && !isAway) return <Loading />;
  return (
    <PageMessage>
      <Alert
        role="alert"
        variant="outline"
        color="red"
        icon={<IconAlertTriangle size={18} />}
        title={isAway ? "The server can't be reached" : "A part of this page is missing"}
        data-testid="lost-file"
        ta="left"
      >
        <Text size="sm" mb="xs">
          {isAway
            ? "The page opens by itself when the server is back. If it doesn't come back, check that Looptrace is running."
            : "Reloading didn't help. Looptrace may be updating: try again in a minute. `looptrace doctor` finds out what is wrong."}
        </Text>
        <Group>
          <Button size="compact-sm" variant="default" loading={isTrying} onClick={reload}>
            Reload the page
          </Button>
        </Group>
      </Alert>
    </PageMessage>
  );
}
