import { Button } from "@mantine/core";
import { IconBulb } from "@tabler/icons-react";
import { useState } from "react";
import { useFindings } from "@/api/findings";
import type { ReplayBatch } from "@/api/types";
import { allows, useProject } from "@/components/useProject";
import { FindingStatusBadge } from "./FindingStatusBadge";
import { KeepFinding } from "./KeepFinding";

/** Keeps what a batch shows about a group of failed runs, or says what is held of it. */
export function KeepBatch({ batch, fingerprint }: { batch: ReplayBatch; fingerprint: string }) {
  const mayWrite = allows(useProject(), "runs:write");
  const { data } = useFindings(batch.project_id, { batch_id: batch.id });
  const [isOpen, setOpen] = useState(false);
  const kept = data?.data[0];
  if (kept) return <FindingStatusBadge status={kept.status} text={`Finding: ${kept.status}`} />;
  if (!mayWrite || !data) return null;
  return (
    <>
      <Button variant="default" leftSection={<IconBulb size={14} />} onClick={() => setOpen(true)}>
        Keep as finding…
      </Button>
      {isOpen && (
        <KeepFinding
          projectId={batch.project_id}
          fingerprint={fingerprint}
          batch={batch}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  );
}
