import { Button } from "@mantine/core";
import { IconMessageSearch, IconTrash } from "@tabler/icons-react";
import { useState } from "react";
import { Link, useNavigate, useParams } from "react-router";
import { isDiagnosisOpen, useDeleteDiagnosis, useDiagnosis } from "@/api/diagnoses";
import type { Diagnosis } from "@/api/types";
import { Ago } from "@/components/Ago";
import { authorName } from "@/components/author";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { DiagnosisView } from "@/components/diagnosis/DiagnosisView";
import { EvaluationStatusMark } from "@/components/evaluation/Marks";
import { Page } from "@/components/Page";
import { ProblemPanel } from "@/components/ProblemPanel";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { useBack } from "@/components/useBack";
import { useNow } from "@/components/useNow";
import { allows, useProject, useProjectId } from "@/components/useProject";

/** One diagnosis: what a model was asked, and what is left of its claims. */
export function DiagnosisPage() {
  const projectId = useProjectId();
  const { diagnosisId = "" } = useParams();
  const query = useDiagnosis(projectId, diagnosisId);
  return (
    <QueryState query={query} skeleton={<SkeletonRows count={5} height={60} />} page>
      {(diagnosis) => <View diagnosis={diagnosis} problem={query.isRefetchError ? query.error : null} />}
    </QueryState>
  );
}

interface Props {
  diagnosis: Diagnosis;
  /** Why it couldn't be read again. */
  problem: Error | null;
}

function View({ diagnosis, problem }: Props) {
  const { project_id: projectId, fingerprint, name } = diagnosis;
  const mayReplay = allows(useProject(), "replays:write");
  const navigate = useNavigate();
  const now = useNow(10_000);
  const back = useBack();
  const [isDeleting, setDeleting] = useState(false);
  const remove = useDeleteDiagnosis(diagnosis);
  return (
    <Page
      title={name}
      badges={<EvaluationStatusMark status={diagnosis.status} />}
      back={{ label: "Back", onClick: back }}
      icon={<IconMessageSearch size={18} stroke={1.7} aria-hidden="true" />}
      context={
        <>
          {fingerprint !== null && (
            <>
              <Link to={`/p/${projectId}/failures/${encodeURIComponent(fingerprint)}?range=90d`}>
                open the failure
              </Link>{" "}
              ·{" "}
            </>
          )}
          asked <Ago time={diagnosis.created_at} now={now} /> by {authorName(diagnosis.created_by)}
        </>
      }
      actions={
        mayReplay &&
        !isDiagnosisOpen(diagnosis) && (
          <Button
            size="compact-sm"
            variant="default"
            leftSection={<IconTrash size={14} />}
            onClick={() => setDeleting(true)}
          >
            Delete…
          </Button>
        )
      }
    >
      {problem && <ProblemPanel error={problem} />}
      <DiagnosisView diagnosis={diagnosis} mayReplay={mayReplay} />
      {isDeleting && (
        <ConfirmDialog
          title={`Delete the diagnosis “${name}”?`}
          action="Delete diagnosis"
          mutation={remove}
          onConfirm={() =>
            remove.mutate(undefined, { onSuccess: () => navigate(`/p/${projectId}/failures`) })
          }
          onClose={() => setDeleting(false)}
        >
          Its claims go. The recorded run of the model's call stays.
        </ConfirmDialog>
      )}
    </Page>
  );
}
