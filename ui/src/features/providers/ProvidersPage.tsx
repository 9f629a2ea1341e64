import { Badge, Button, Menu, Progress } from "@mantine/core";
import {
  IconAlertTriangle,
  IconListDetails,
  IconPencil,
  IconPlugConnected,
  IconPlus,
  IconTrash,
} from "@tabler/icons-react";
import { useState } from "react";
import { Link } from "react-router";
import { useDeleteProvider, useProviders } from "@/api/providers";
import type { Provider } from "@/api/types";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { DataTable } from "@/components/DataTable";
import { Page } from "@/components/Page";
import { PageHint, PageMessage } from "@/components/PageMessage";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { DangerItem, RowMenu } from "@/components/RowMenu";
import { useNow } from "@/components/useNow";
import { allows, useProject, useProjectId } from "@/components/useProject";
import { useRowFocus } from "@/components/useRowFocus";
import { activityText, budgetOf } from "./activity";
import { ModelsDialog } from "./ModelsDialog";
import { ProviderDialog } from "./ProviderDialog";
import classes from "./Providers.module.css";
import { TestDialog } from "./TestDialog";

type OpenDialog =
  | { kind: "edit"; provider: Provider | null }
  | { kind: "test" | "models" | "delete"; provider: Provider };

/** The connections to model providers. Admins change them, others see them. */
export function ProvidersPage() {
  const projectId = useProjectId();
  const mayManage = allows(useProject(), "admin");
  const query = useProviders(projectId, { live: true });
  const remove = useDeleteProvider(projectId);
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const list = useRowFocus();
  const close = () => {
    remove.reset();
    setDialog(null);
  };
  const add = (
    <Button leftSection={<IconPlus size={14} />} onClick={() => setDialog({ kind: "edit", provider: null })}>
      New connection
    </Button>
  );
  return (
    <>
      <Page
        title="Providers"
        context={
          <>
            Connections to model APIs, for the playground, evaluations and replays.{" "}
            <Link to="../settings/spending">Spending</Link>
          </>
        }
        actions={mayManage && query.data && query.data.data.length > 0 ? add : undefined}
      >
        <QueryState query={query} skeleton={<SkeletonRows count={4} height={44} />} page>
          {({ data }) =>
            data.length === 0 ? (
              <PageMessage title="No connections yet.">
                <PageHint>
                  {mayManage
                    ? "Connect OpenAI, Anthropic, or your own server, to call models in the playground, evaluations and replays."
                    : "Ask an admin of the workspace to add one, to call models in the playground, evaluations and replays."}
                </PageHint>
                {mayManage && add}
              </PageMessage>
            ) : (
              <div ref={list}>
                <Providers providers={data} mayManage={mayManage} onOpen={setDialog} />
              </div>
            )
          }
        </QueryState>
      </Page>
      {dialog?.kind === "edit" && (
        <ProviderDialog projectId={projectId} provider={dialog.provider} onClose={close} />
      )}
      {dialog?.kind === "test" && (
        <TestDialog projectId={projectId} provider={dialog.provider} onClose={close} />
      )}
      {dialog?.kind === "models" && (
        <ModelsDialog projectId={projectId} provider={dialog.provider} onClose={close} />
      )}
      {dialog?.kind === "delete" && (
        <ConfirmDialog
          title={`Delete the connection “${dialog.provider.name}”?`}
          action="Delete connection"
          mutation={remove}
          onConfirm={() => remove.mutate(dialog.provider.id, { onSuccess: close })}
          onClose={close}
        >
          Its key and what was learned of its models are deleted. Calls that are under way end. Recorded runs
          and spending stay.
        </ConfirmDialog>
      )}
    </>
  );
}

interface ProvidersProps {
  providers: Provider[];
  mayManage: boolean;
  onOpen: (dialog: OpenDialog) => void;
}

function Providers({ providers, mayManage, onOpen }: ProvidersProps) {
  const now = useNow(1_000);
  return (
    <DataTable<Provider>
      label="Connections"
      stacks
      rows={providers}
      rowKey={({ id }) => id}
      rowProps={() => ({ "data-testid": "provider-row" })}
      columns={[
        {
          header: "Connection",
          cell: ({ name, kind, base_url }) => (
            <span className={classes.name}>
              <span>
                <strong>{name}</strong>{" "}
                <Badge size="xs" variant="default">
                  {kind}
                </Badge>
              </span>
              <span className={classes.dim}>{base_url}</span>
            </span>
          ),
        },
        { header: "Key", cell: (provider) => <Key provider={provider} /> },
        { header: "Budget", cell: (provider) => <Budget provider={provider} /> },
        { header: "Activity", cell: (provider) => activityText(provider, now) },
        {
          header: "Actions",
          hideHeader: true,
          cell: (provider) => (
            <RowMenu name={provider.name}>
              <Menu.Item
                leftSection={<IconListDetails size={15} />}
                onClick={() => onOpen({ kind: "models", provider })}
              >
                Models
              </Menu.Item>
              {mayManage && (
                <>
                  <Menu.Item
                    leftSection={<IconPlugConnected size={15} />}
                    onClick={() => onOpen({ kind: "test", provider })}
                  >
                    Test…
                  </Menu.Item>
                  <Menu.Item
                    leftSection={<IconPencil size={15} />}
                    onClick={() => onOpen({ kind: "edit", provider })}
                  >
                    Edit…
                  </Menu.Item>
                  <DangerItem icon={IconTrash} onClick={() => onOpen({ kind: "delete", provider })}>
                    Delete…
                  </DangerItem>
                </>
              )}
            </RowMenu>
          ),
        },
      ]}
    />
  );
}

function Key({ provider: { key_hint, key_readable, header_names } }: { provider: Provider }) {
  return (
    <span className={classes.name}>
      <span>{key_hint === null ? "none" : <code>…{key_hint}</code>}</span>
      {header_names.length > 0 && <span className={classes.dim}>{header_names.join(", ")}</span>}
      {!key_readable && (
        <span className={classes.warning}>
          <IconAlertTriangle size={13} aria-hidden="true" /> Not readable. Enter the key again.
        </span>
      )}
    </span>
  );
}

function Budget({ provider }: { provider: Provider }) {
  const { text, spent, reserved } = budgetOf(provider);
  return (
    <div className={classes.budget}>
      <div>{text}</div>
      {spent === null ? (
        <span className={classes.dim}>no budget</span>
      ) : (
        <Progress.Root size="sm" mt={3} aria-hidden="true">
          <Progress.Section
            value={spent * 100}
            color={spent >= 1 ? "var(--lt-error)" : "var(--lt-accent)"}
            withAria={false}
          />
          <Progress.Section value={reserved * 100} color="var(--lt-bar)" withAria={false} />
        </Progress.Root>
      )}
    </div>
  );
}
