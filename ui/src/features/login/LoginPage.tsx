import { Button, Stack, TextInput } from "@mantine/core";
import { useState } from "react";
import { Navigate, useSearchParams } from "react-router";
import { useLogin, useMe } from "@/api/identity";
import { CurrentPassword } from "@/components/CurrentPassword";
import { ProblemPanel } from "@/components/ProblemPanel";
import { SignInCard } from "@/components/SignInCard";
import { withWait } from "@/components/throttled";
import { useLastingError } from "@/components/useLastingError";
import { safeNext } from "./next";

/** Logs in and returns to the requested page. */
export function LoginPage() {
  const [params] = useSearchParams();
  const me = useMe();
  const away = useLastingError(me);
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
          <CurrentPassword value={password} onChange={setPassword} />
          {login.isError && <ProblemPanel error={withWait(login.error)} />}
          {away && !login.isError && <ProblemPanel error={away} onRetry={() => void me.refetch()} />}
          <Button type="submit" size="sm" loading={login.isPending}>
            Log in
          </Button>
        </Stack>
      </form>
    </SignInCard>
  );
}
