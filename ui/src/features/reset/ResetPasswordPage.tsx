import { Anchor, Button, Skeleton, Stack, TextInput } from "@mantine/core";
import { useState } from "react";
import { Link, useLocation, useNavigate } from "react-router";
import { usePasswordResetOf, useUsePasswordReset } from "@/api/account";
import { ApiError } from "@/api/problem";
import { NewPassword } from "@/components/NewPassword";
import { ProblemPanel } from "@/components/ProblemPanel";
import { QueryState } from "@/components/QueryState";
import { SignInCard } from "@/components/SignInCard";

/** Sets a new password with the token in the fragment of the address. Browsers don't send the fragment to servers. */
export function ResetPasswordPage() {
  const token = useLocation().hash.slice(1);
  const reset = usePasswordResetOf(token);
  if (reset.error instanceof ApiError && [404, 422].includes(reset.error.status)) return <Ended />;
  return (
    <SignInCard title="Set a new password" context="You are logged out everywhere else.">
      <QueryState query={reset} skeleton={<Skeleton height={140} />}>
        {({ email }) => <Form token={token} email={email} />}
      </QueryState>
    </SignInCard>
  );
}

function Ended() {
  return (
    <SignInCard
      title="This link doesn't work any more"
      context="A link to set a password works once, for 24 hours. Ask an admin of your organization for a new one."
    >
      <Anchor component={Link} to="/" replace size="sm">
        Log in
      </Anchor>
    </SignInCard>
  );
}

function Form({ token, email }: { token: string; email: string }) {
  const save = useUsePasswordReset();
  const navigate = useNavigate();
  const [password, setPassword] = useState("");
  const passwordError = save.error instanceof ApiError ? save.error.fieldMessage("body.password") : undefined;
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    // The link, which works no more, leaves the history.
    save.mutate({ token, password }, { onSuccess: () => navigate("/", { replace: true }) });
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <TextInput label="Email" type="email" autoComplete="username" readOnly value={email} />
        <NewPassword
          label="New password"
          value={password}
          onChange={setPassword}
          email={email}
          error={passwordError}
          autoFocus
        />
        {save.error && !passwordError && <ProblemPanel error={save.error} />}
        <Button type="submit" size="sm" loading={save.isPending}>
          Set password and log in
        </Button>
      </Stack>
    </form>
  );
}
