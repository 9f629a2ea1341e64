import { Anchor, Button, SegmentedControl, Skeleton, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { Link, useLocation, useNavigate } from "react-router";
import { useLogout, useMe } from "@/api/identity";
import { useAcceptInvitation, useInvitationOf, useJoin } from "@/api/invitations";
import { ApiError } from "@/api/problem";
import type { InvitationPreview, Me } from "@/api/types";
import { CurrentPassword } from "@/components/CurrentPassword";
import { formatTime } from "@/components/format";
import { NewPassword } from "@/components/NewPassword";
import { ProblemPanel } from "@/components/ProblemPanel";
import { QueryState } from "@/components/QueryState";
import { withArticle } from "@/components/roles";
import { SignInCard } from "@/components/SignInCard";
import { withWait } from "@/components/throttled";
import { endOf, invitedTo, startOf } from "./invitation";

/** Accepts the invitation whose token is in the fragment of the address. Browsers don't send the fragment to servers. */
export function InvitePage() {
  const token = useLocation().hash.slice(1);
  const me = useMe();
  const invitation = useInvitationOf(token);
  const end = endOf(invitation.error);
  if (end) {
    return (
      <SignInCard title={end.title} context={end.advice}>
        <Anchor component={Link} to="/" replace size="sm">
          {me.data ? "Open Looptrace" : "Log in"}
        </Anchor>
      </SignInCard>
    );
  }
  return (
    <SignInCard
      title={invitation.data ? `Join ${invitedTo(invitation.data)}` : "Invitation"}
      context={invitation.data ? sentence(invitation.data) : "Someone invited you to Looptrace."}
    >
      <QueryState query={invitation} skeleton={<Skeleton height={160} />}>
        {(preview) => (
          <QueryState query={me} skeleton={<Skeleton height={160} />}>
            {(caller) =>
              caller?.user ? (
                <Join token={token} invitation={preview} email={caller.user.email} />
              ) : (
                <Accept token={token} invitation={preview} />
              )
            }
          </QueryState>
        )}
      </QueryState>
    </SignInCard>
  );
}

function sentence({ organization_name, workspace_name, role, created_by, expires_at }: InvitationPreview) {
  const where =
    workspace_name === null
      ? `the organization ${organization_name}`
      : `the workspace ${workspace_name} of ${organization_name}`;
  return `${created_by ?? "A former colleague"} invites you to ${where} as ${withArticle(role)}. The link works once, until ${formatTime(expires_at)}.`;
}

/** Opens the first page of the new member. The link, which works no more, leaves the history. */
function useEnter(invitation: InvitationPreview) {
  const navigate = useNavigate();
  return (me: Me) => navigate(startOf(me, invitation), { replace: true });
}

interface JoinProps {
  token: string;
  invitation: InvitationPreview;
  /** The address of the user who is logged in. */
  email: string;
}

function Join({ token, invitation, email }: JoinProps) {
  const join = useJoin();
  const logout = useLogout();
  const enter = useEnter(invitation);
  const isForOther = invitation.email !== null && invitation.email.toLowerCase() !== email.toLowerCase();
  return (
    <Stack gap="sm">
      {isForOther && (
        <Text size="sm">
          The invitation is for {invitation.email}, and you are logged in as {email}.
        </Text>
      )}
      {join.error && <ProblemPanel error={join.error} />}
      {logout.error && <ProblemPanel error={logout.error} />}
      {!isForOther && (
        <Button size="sm" loading={join.isPending} onClick={() => join.mutate(token, { onSuccess: enter })}>
          Join as {email}
        </Button>
      )}
      <Button
        size="sm"
        variant="default"
        loading={logout.isPending}
        disabled={join.isPending}
        onClick={() => logout.mutate()}
      >
        Log out and use another account
      </Button>
    </Stack>
  );
}

interface AcceptProps {
  token: string;
  invitation: InvitationPreview;
}

function Accept({ token, invitation }: AcceptProps) {
  const accept = useAcceptInvitation();
  const enter = useEnter(invitation);
  const [email, setEmail] = useState(invitation.email ?? "");
  const [password, setPassword] = useState("");
  const [hasAccount, setHasAccount] = useState(false);
  // The user asked for a new account, but the address has one.
  const [foundAccount, setFoundAccount] = useState(false);
  const failure = accept.error instanceof ApiError ? accept.error : null;
  const emailError = failure?.fieldMessage("body.email");
  const newPasswordError = failure?.fieldMessage("body.password");
  // Only an address that has an account asks for its password.
  const passwordError =
    failure?.status !== 401
      ? undefined
      : foundAccount
        ? "This address has an account. Enter its password."
        : "This is not the password of the account.";
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    accept.mutate(
      { token, email: email.trim(), password },
      {
        onSuccess: enter,
        onError: (error) => {
          if (!(error instanceof ApiError && error.status === 401)) return;
          setFoundAccount(!hasAccount);
          setHasAccount(true);
        },
      },
    );
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <SegmentedControl
          aria-label="Account"
          value={hasAccount ? "old" : "new"}
          onChange={(value) => {
            accept.reset();
            setHasAccount(value === "old");
          }}
          data={[
            { value: "new", label: "New account" },
            { value: "old", label: "I have an account" },
          ]}
        />
        <TextInput
          label="Email"
          type="email"
          autoComplete="username"
          required
          withAsterisk={false}
          readOnly={invitation.email !== null}
          description={invitation.email === null ? undefined : "The invitation is for this address."}
          autoFocus={invitation.email === null}
          maxLength={254}
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
          error={emailError}
        />
        {hasAccount ? (
          <CurrentPassword
            value={password}
            onChange={setPassword}
            error={passwordError}
            autoFocus={invitation.email !== null}
          />
        ) : (
          <NewPassword
            value={password}
            onChange={setPassword}
            email={email}
            error={newPasswordError}
            autoFocus={invitation.email !== null}
          />
        )}
        {accept.error && !emailError && !newPasswordError && !passwordError && (
          <ProblemPanel error={withWait(accept.error)} />
        )}
        <Button type="submit" size="sm" loading={accept.isPending}>
          {hasAccount ? "Log in and join" : "Create account and join"}
        </Button>
      </Stack>
    </form>
  );
}
