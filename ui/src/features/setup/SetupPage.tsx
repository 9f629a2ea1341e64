import { Button, PasswordInput, Stack, TextInput } from "@mantine/core";
import { useState } from "react";
import { Navigate, useLocation } from "react-router";
import { useMe, useSetup, useSetupState } from "@/api/identity";
import { ApiError } from "@/api/problem";
import { NewPassword } from "@/components/NewPassword";
import { ProblemPanel } from "@/components/ProblemPanel";
import { SignInCard } from "@/components/SignInCard";
import { useLastingError } from "@/components/useLastingError";

/** Creates the first user. An installation shows it once. */
export function SetupPage() {
  const me = useMe();
  const state = useSetupState();
  const away = useLastingError(state);
  const setup = useSetup();
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [organization, setOrganization] = useState("My organization");
  const [token, setToken] = useState(useLocation().hash.slice(1));

  const project = me.data?.projects[0];
  if (project) return <Navigate to={`/p/${project.id}/connect`} replace />;
  if (state.data?.bootstrapped) return <Navigate to="/login" replace />;

  const failure = setup.error instanceof ApiError ? setup.error : null;
  const hasFieldErrors = failure?.problem?.errors?.some((item) => item.location.startsWith("body."));
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    const setupToken = state.data?.token_required ? { setup_token: token.trim() } : {};
    setup.mutate({ email: email.trim(), password, org_name: organization.trim(), ...setupToken });
  };

  return (
    <SignInCard title="Set up Looptrace" context="Create the first account. It owns this installation.">
      <form onSubmit={submit}>
        <Stack gap="sm">
          <TextInput
            label="Email"
            type="email"
            autoComplete="username"
            required
            withAsterisk={false}
            autoFocus
            value={email}
            onChange={(event) => setEmail(event.currentTarget.value)}
            error={failure?.fieldMessage("body.email")}
          />
          <NewPassword
            value={password}
            onChange={setPassword}
            email={email}
            error={failure?.fieldMessage("body.password")}
          />
          <TextInput
            label="Organization"
            description="You can rename it later"
            autoComplete="organization"
            required
            withAsterisk={false}
            maxLength={100}
            value={organization}
            onChange={(event) => setOrganization(event.currentTarget.value)}
            error={failure?.fieldMessage("body.org_name")}
          />
          {state.data?.token_required && (
            <PasswordInput
              label="Setup token"
              description="The setting SETUP_TOKEN of the control plane"
              autoComplete="off"
              required
              withAsterisk={false}
              visibilityToggleButtonProps={{ "aria-label": "Show or hide the token", tabIndex: 0 }}
              value={token}
              onChange={(event) => setToken(event.currentTarget.value)}
              error={failure?.fieldMessage("body.setup_token")}
            />
          )}
          {setup.isError && !hasFieldErrors && <ProblemPanel error={setup.error} />}
          {away && !setup.isError && <ProblemPanel error={away} onRetry={() => void state.refetch()} />}
          <Button type="submit" size="sm" loading={setup.isPending}>
            Create account
          </Button>
        </Stack>
      </form>
    </SignInCard>
  );
}
