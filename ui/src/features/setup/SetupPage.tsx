import { Button, PasswordInput, Progress, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { Navigate } from "react-router";
import { useMe, useSetup, useSetupState } from "@/api/identity";
import { ApiError } from "@/api/problem";
import { ProblemPanel } from "@/components/ProblemPanel";
import { SignInCard } from "@/components/SignInCard";
import { MIN_LENGTH, passwordStrength } from "./strength";

const colors = ["gray", "yellow", "iris", "teal"] as const;

/** Creates the first user. An installation shows it once. */
export function SetupPage() {
  const me = useMe();
  const state = useSetupState();
  const setup = useSetup();
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [organization, setOrganization] = useState("");

  const project = me.data?.projects[0];
  if (project) return <Navigate to={`/p/${project.id}/start`} replace />;
  if (state.data?.bootstrapped) return <Navigate to="/login" replace />;

  const strength = passwordStrength(password, email);
  const failure = setup.error instanceof ApiError ? setup.error : null;
  const hasFieldErrors = failure?.problem?.errors?.some((item) => item.location.startsWith("body."));
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    setup.mutate({ email: email.trim(), password, org_name: organization.trim() });
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
          <div>
            <PasswordInput
              label="Password"
              description={`At least ${MIN_LENGTH} characters`}
              autoComplete="new-password"
              required
              withAsterisk={false}
              minLength={MIN_LENGTH}
              value={password}
              onChange={(event) => setPassword(event.currentTarget.value)}
              error={failure?.fieldMessage("body.password")}
              visibilityToggleButtonProps={{ "aria-label": "Show or hide the password", tabIndex: 0 }}
            />
            {password !== "" && (
              <>
                <Progress
                  value={((strength.score + 1) / 4) * 100}
                  color={colors[strength.score]}
                  size={3}
                  mt={6}
                  aria-hidden="true"
                />
                <Text size="xs" c="dimmed" mt={4} role="status">
                  {strength.hint}
                </Text>
              </>
            )}
          </div>
          <TextInput
            label="Organization"
            autoComplete="organization"
            required
            withAsterisk={false}
            maxLength={100}
            value={organization}
            onChange={(event) => setOrganization(event.currentTarget.value)}
            error={failure?.fieldMessage("body.org_name")}
          />
          {setup.isError && !hasFieldErrors && <ProblemPanel error={setup.error} />}
          <Button type="submit" size="sm" loading={setup.isPending}>
            Create account
          </Button>
        </Stack>
      </form>
    </SignInCard>
  );
}
