import { useState } from "react";
import { useNavigate, useSearchParams } from "react-router";
import { useCreateEvalRule } from "@/api/evalRules";
import { useProviders } from "@/api/providers";
import { filterWords } from "@/components/filters/runFilter";
import { NotAllowed } from "@/components/NotAllowed";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { allows, useProject, useProjectId } from "@/components/useProject";
import { RuleForm } from "./RuleForm";
import { emptyRule } from "./ruleDraft";

/** Makes a rule, for the runs of the filter `runs` if the address has one. */
export function NewRulePage() {
  const projectId = useProjectId();
  const mayWrite = allows(useProject(), "evals:write");
  const providers = useProviders(projectId);
  const create = useCreateEvalRule(projectId);
  const navigate = useNavigate();
  const [params] = useSearchParams();
  const [start] = useState(() => emptyRule(params.get("runs") ?? ""));
  if (!mayWrite)
    return (
      <NotAllowed
        title="New rule"
        action="change rules"
        scope="evals:write"
        reason="rules can cost money"
        back={{ label: "Back", to: `/p/${projectId}/rules` }}
      />
    );
  return (
    <QueryState query={providers} skeleton={<SkeletonRows count={6} height={44} />} page>
      {({ data }) => (
        <RuleForm
          projectId={projectId}
          providers={data}
          start={start}
          rule={null}
          notice={
            start.runs === "" ? null : `For runs like those that you chose: ${filterWords(start.runs)}.`
          }
          save={create}
          onSave={(body) =>
            create.mutate(body, {
              onSuccess: ({ id }) => navigate(`/p/${projectId}/rules/${id}`, { replace: true }),
            })
          }
        />
      )}
    </QueryState>
  );
}
