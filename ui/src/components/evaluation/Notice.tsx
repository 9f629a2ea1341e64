import { Alert } from "@mantine/core";
import { IconInfoCircle } from "@tabler/icons-react";

/** What to know about a result: why it ended, and what it leaves out. */
export function Notice({ children }: { children: React.ReactNode }) {
  return (
    <Alert variant="light" color="gray" p="xs" mb="md" c="var(--lt-text)" icon={<IconInfoCircle size={16} />}>
      {children}
    </Alert>
  );
}
