import { Button, PasswordInput, Stack, TextInput } from "@mantine/core";
import { useState } from "react";
import { Navigate, useSearchParams } from "react-router";
import { useLogin, useMe } from "@/api/identity";
import { ApiError } from "@/api/problem";
import { ProblemPanel } from "@/components/ProblemPanel";
import { SignInCard } from "@/components/SignInCard";
import { safeNext } from "./next";

/** Logs in and returns to the requested page. */
export function LoginPage() {
  const [params] = useSearchParams();
  const me = useMe();
  const login = useLogin();
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");

  if (me.data) return <Navigate to={safeNext(params.get("next"))} replace />;

  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    login.mutate({ email: email.trim(), password });
  };
  return (
    <SignInCard
      title="Log in"
      context={params.has("next") ? "Log in to continue." : "Log in to see your agents' runs."}
    >
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
          />
          <PasswordInput
            label="Password"
            autoComplete="current-password"
            required
            withAsterisk={false}
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
            visibilityToggleButtonProps={{ "aria-label": "Show or hide the password", tabIndex: 0 }}
          />
          {login.isError && <ProblemPanel error={explain(login.error)} />}
          <Button type="submit" size="sm" loading={login.isPending}>
            Log in
          </Button>
        </Stack>
      </form>
    </SignInCard>
  );
}

/** Says how long to wait if the server throttles logins. */
function explain(error: Error): Error {
  if (!(error instanceof ApiError) || error.status !== 429 || error.retryAfterSeconds === null) return error;
  const seconds = error.retryAfterSeconds;
  return new ApiError(
    429,
    error.problem,
    seconds,
    `Too many attempts. Try again in ${seconds === 1 ? "a second" : `${seconds} seconds`}`,
  );
}
