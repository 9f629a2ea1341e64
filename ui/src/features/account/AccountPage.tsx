import { Badge, Button, Group, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { useChangePassword, useEndOtherSessions, useEndSession, useSessions } from "@/api/account";
import { useMe } from "@/api/identity";
import { useLeave } from "@/api/members";
import { ApiError } from "@/api/problem";
import type { OrganizationAccess, Session } from "@/api/types";
import { Ago } from "@/components/Ago";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { CurrentPassword } from "@/components/CurrentPassword";
import { DataTable } from "@/components/DataTable";
import { formatTime, NONE } from "@/components/format";
import { NewPassword } from "@/components/NewPassword";
import { Page } from "@/components/Page";
import { ProblemPanel } from "@/components/ProblemPanel";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { Section } from "@/components/Section";
import { withWait } from "@/components/throttled";
import { useNow } from "@/components/useNow";
import { deviceName } from "./device";
import { type Membership, membershipsOf } from "./memberships";

/** The user's own account: password, sessions, organizations and workspaces. */
export function AccountPage() {
  const me = useMe().data;
  if (!me?.user) return null;
  return (
    <Page title="Account" context={me.user.email}>
      <Password email={me.user.email} />
      <Sessions />
      <Memberships organizations={me.organizations} />
    </Page>
  );
}

function Password({ email }: { email: string }) {
  const change = useChangePassword();
  const [current, setCurrent] = useState("");
  const [replacement, setReplacement] = useState("");
  const failure = change.error instanceof ApiError ? change.error : null;
  const currentError = failure?.fieldMessage("body.current_password");
  const newError = failure?.fieldMessage("body.new_password");
  const edit = (set: (value: string) => void) => (value: string) => {
    change.reset();
    set(value);
  };
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    change.mutate(
      { current_password: current, new_password: replacement },
      {
        onSuccess: () => {
          setCurrent("");
          setReplacement("");
        },
      },
    );
  };
  return (
    <Section title="Password" description="A new password logs you out everywhere else.">
      <form onSubmit={submit} aria-label="Change password">
        {/* Password managers store the new password for this address. */}
        <input type="email" autoComplete="username" value={email} readOnly hidden />
        <Stack gap="sm" maw={360}>
          <CurrentPassword
            label="Current password"
            value={current}
            onChange={edit(setCurrent)}
            error={currentError && `The current password ${currentError}.`}
          />
          <NewPassword
            label="New password"
            value={replacement}
            onChange={edit(setReplacement)}
            email={email}
            error={newError}
          />
          {change.error && !currentError && !newError && <ProblemPanel error={withWait(change.error)} />}
          <Group gap="sm">
            <Button
              type="submit"
              variant="default"
              loading={change.isPending}
              disabled={current === "" || replacement === ""}
            >
              Change password
            </Button>
            <Text size="sm" c="dimmed" role="status">
              {change.isSuccess ? "Changed. All other sessions have ended." : ""}
            </Text>
          </Group>
        </Stack>
      </form>
    </Section>
  );
}

function Sessions() {
  const sessions = useSessions();
  const end = useEndSession();
  const endOthers = useEndOtherSessions();
  const [ending, setEnding] = useState<Session | "others" | null>(null);
  const now = useNow(30_000);
  const close = () => {
    end.reset();
    endOthers.reset();
    setEnding(null);
  };
  return (
    <Section
      title="Sessions"
      description="Where you are logged in. A session ends after 24 hours without use."
    >
      <QueryState query={sessions} skeleton={<SkeletonRows count={2} height={30} />}>
        {(list) => (
          <Stack gap="sm" align="flex-start">
            <div style={{ width: "100%" }}>
              <DataTable
                label="Sessions"
                stacks
                columns={[
                  {
                    header: "Device",
                    title: (session) => session.user_agent,
                    cell: (session) => (
                      <Group gap={8} wrap="nowrap">
                        {deviceName(session.user_agent)}
                        {session.current && (
                          <Badge size="sm" variant="default" tt="none" flex="none">
                            this session
                          </Badge>
                        )}
                      </Group>
                    ),
                  },
                  { header: "Address", cell: ({ ip }) => ip ?? NONE },
                  {
                    header: "Logged in",
                    number: true,
                    cell: ({ created_at }) => <Ago time={created_at} now={now} />,
                  },
                  {
                    header: "Last used",
                    number: true,
                    cell: ({ last_seen_at }) => <Ago time={last_seen_at} now={now} />,
                  },
                  {
                    header: "Actions",
                    hideHeader: true,
                    cell: (session) =>
                      !session.current && (
                        <Button size="compact-xs" variant="default" onClick={() => setEnding(session)}>
                          End…
                        </Button>
                      ),
                  },
                ]}
                rows={list}
                rowKey={({ id }) => id}
                rowProps={({ current }) => ({
                  "data-testid": "session-row",
                  "data-current": current ? "true" : undefined,
                })}
              />
            </div>
            {list.some(({ current }) => !current) && (
              <Button variant="default" onClick={() => setEnding("others")}>
                End all other sessions…
              </Button>
            )}
          </Stack>
        )}
      </QueryState>
      {ending === "others" && (
        <ConfirmDialog
          title="End all other sessions?"
          action="End sessions"
          mutation={endOthers}
          onConfirm={() => endOthers.mutate(undefined, { onSuccess: close })}
          onClose={close}
        >
          You are logged out everywhere but here.
        </ConfirmDialog>
      )}
      {ending !== null && ending !== "others" && (
        <ConfirmDialog
          title={`End the session in ${deviceName(ending.user_agent)}?`}
          action="End session"
          mutation={end}
          onConfirm={() => end.mutate(ending.id, { onSuccess: close })}
          onClose={close}
        >
          Last used {formatTime(ending.last_seen_at)}. You are logged out there.
        </ConfirmDialog>
      )}
    </Section>
  );
}

function Memberships({ organizations }: { organizations: readonly OrganizationAccess[] }) {
  const leave = useLeave();
  const [leaving, setLeaving] = useState<Membership | null>(null);
  const close = () => {
    leave.reset();
    setLeaving(null);
  };
  return (
    <Section
      title="Organizations and workspaces"
      description="A role in an organization applies to all its workspaces."
    >
      {organizations.length === 0 ? (
        <Text size="sm" c="dimmed">
          You don't belong to an organization.
        </Text>
      ) : (
        <DataTable
          label="Organizations and workspaces"
          stacks
          columns={[
            { header: "Name", cell: ({ name }) => name, title: ({ name }) => name },
            { header: "Kind", cell: ({ kind }) => kind },
            { header: "Your role", cell: ({ role }) => role ?? NONE },
            {
              header: "Actions",
              hideHeader: true,
              cell: (membership) =>
                membership.mayLeave && (
                  <Button
                    size="compact-xs"
                    variant="default"
                    aria-label={`Leave ${membership.name}`}
                    onClick={() => setLeaving(membership)}
                  >
                    Leave…
                  </Button>
                ),
            },
          ]}
          rows={membershipsOf(organizations)}
          rowKey={({ id }) => id}
          rowProps={() => ({ "data-testid": "membership-row" })}
        />
      )}
      {leaving && (
        <ConfirmDialog
          title={`Leave ${leaving.name}?`}
          action={`Leave the ${leaving.kind}`}
          mutation={leave}
          onConfirm={() => leave.mutate(leaving.place, { onSuccess: close })}
          onClose={close}
        >
          {leaving.kind === "organization"
            ? "You lose access to all its workspaces and projects. Only an admin can let you in again."
            : `You lose your role in this workspace of ${leaving.organizationName}. Only an admin can give it back.`}
        </ConfirmDialog>
      )}
    </Section>
  );
}
