import { useState } from "react";
import { useNavigate, useParams } from "react-router";
import { useEvalRule, useUpdateEvalRule } from "@/api/evalRules";
import { useReadyMadeJudges } from "@/api/judges";
import { useProviders } from "@/api/providers";
import type { EvalRule, Provider, ReadyMadeJudge } from "@/api/types";
import { NotAllowed } from "@/components/NotAllowed";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { allows, useProject, useProjectId } from "@/components/useProject";
import { RuleForm } from "./RuleForm";
import { draftOf } from "./ruleDraft";

const skeleton = <SkeletonRows count={6} height={44} />;

/** Changes a rule. */
export function EditRulePage() {
  const { ruleId = "" } = useParams();
  const projectId = useProjectId();
  const mayWrite = allows(useProject(), "evals:write");
  const rule = useEvalRule(ruleId);
  const providers = useProviders(projectId);
  const catalog = useReadyMadeJudges();
  if (!mayWrite)
    return (
      <NotAllowed
        title="Edit a rule"
        action="change rules"
        scope="evals:write"
        reason="rules can cost money"
        back={{ label: "Back", to: `/p/${projectId}/rules/${ruleId}` }}
      />
    );
  return (
    <QueryState query={rule} skeleton={skeleton} page>
      {(found) => (
        <QueryState query={providers} skeleton={skeleton} page>
          {({ data }) => (
            <QueryState query={catalog} skeleton={skeleton} page>
              {(ready) => <Edit key={found.id} rule={found} providers={data} catalog={ready.data} />}
            </QueryState>
          )}
        </QueryState>
      )}
    </QueryState>
  );
}

interface Props {
  rule: EvalRule;
  providers: readonly Provider[];
  catalog: readonly ReadyMadeJudge[];
}

function Edit({ rule, providers, catalog }: Props) {
  const navigate = useNavigate();
  const update = useUpdateEvalRule(rule);
  // The rule is read again while it is edited.
  const [start] = useState(() => draftOf(rule, catalog));
  return (
    <RuleForm
      projectId={rule.project_id}
      providers={providers}
      start={start}
      rule={rule}
      notice={null}
      save={update}
      onSave={(_, changes) =>
        update.mutate(changes, {
          onSuccess: () => navigate(`/p/${rule.project_id}/rules/${rule.id}`, { replace: true }),
        })
      }
    />
  );
}
