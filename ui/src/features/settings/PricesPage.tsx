import { Anchor, Button, Menu, Title } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconPencil, IconPlus, IconTrash } from "@tabler/icons-react";
import { useState } from "react";
import { useCostDifferences, useDeletePrice, usePrices, useUnpricedModels } from "@/api/prices";
import type { Price } from "@/api/types";
import { Ago } from "@/components/Ago";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { DataTable } from "@/components/DataTable";
import { formatCost, formatCount } from "@/components/format";
import { ListPage } from "@/components/ListPage";
import { ProblemPanel } from "@/components/ProblemPanel";
import { DangerItem, RowMenu } from "@/components/RowMenu";
import { SearchBox } from "@/components/SearchBox";
import { useNow } from "@/components/useNow";
import { allows, useProject, useProjectId } from "@/components/useProject";
import { PriceDialog } from "./PriceDialog";
import classes from "./PricesPage.module.css";
import {
  fieldsOf,
  formatRate,
  type PriceFields,
  type PriceRow,
  priceRows,
  rateLabels,
  rates,
  sourceText,
} from "./prices";

type OpenDialog =
  | { kind: "edit"; id: string | null; fields: PriceFields }
  | { kind: "delete"; id: string; model: string };

/** Models without a price, then the project's own prices, then the built-in ones. */
export function PricesPage() {
  const projectId = useProjectId();
  const mayManage = allows(useProject(), "admin");
  const [search, setSearch] = useState("");
  const [searched] = useDebouncedValue(search.trim(), 200);
  const query = usePrices(projectId, searched);
  const remove = useDeletePrice(projectId);
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const close = () => {
    remove.reset();
    setDialog(null);
  };
  const edit = (id: string | null, price: Partial<Price>) =>
    setDialog({ kind: "edit", id, fields: fieldsOf(price) });
  return (
    <>
      <ListPage
        title="Prices"
        context="Token prices used to calculate cost, in US dollars per million tokens."
        tools={
          <SearchBox
            label="Search prices"
            placeholder="Search models and providers"
            value={search}
            onChange={setSearch}
          />
        }
        actions={
          mayManage && (
            <Button leftSection={<IconPlus size={14} />} onClick={() => edit(null, {})}>
              New price
            </Button>
          )
        }
        query={query}
        what="prices"
        rowHeight={30}
        emptyTitle="No prices yet."
        onClearFilters={searched === "" ? undefined : () => setSearch("")}
        banner={
          <>
            <Unpriced projectId={projectId} onAdd={mayManage ? (model) => edit(null, model) : undefined} />
            <Differences projectId={projectId} />
          </>
        }
      >
        {(prices) => (
          <DataTable<PriceRow>
            label="Prices"
            stacks
            columns={[
              {
                header: "Model",
                cell: ({ price, tier }) =>
                  tier ? `over ${formatCount(tier.above)} input tokens` : price.model,
              },
              { header: "Provider", cell: ({ price, tier }) => (tier ? null : price.provider || "any") },
              ...rates.map((rate) => ({
                header: rateLabels[rate],
                number: true,
                cell: ({ price, tier }: PriceRow) => formatRate((tier ?? price)[rate]),
              })),
              { header: "From", cell: ({ price, tier }) => (tier ? null : price.valid_from?.slice(0, 10)) },
              { header: "Source", cell: ({ price, tier }) => (tier ? null : <Source price={price} />) },
              {
                header: "Actions",
                hideHeader: true,
                cell: ({ price, tier }) =>
                  mayManage &&
                  !tier && (
                    <RowMenu name={price.model}>
                      <Menu.Item leftSection={<IconPencil size={15} />} onClick={() => edit(price.id, price)}>
                        {price.source === "project" ? "Edit…" : "Override…"}
                      </Menu.Item>
                      {price.source === "project" && price.id && (
                        <DangerItem
                          icon={IconTrash}
                          onClick={() =>
                            setDialog({ kind: "delete", id: price.id ?? "", model: price.model })
                          }
                        >
                          Delete…
                        </DangerItem>
                      )}
                    </RowMenu>
                  ),
              },
            ]}
            rows={priceRows(prices)}
            rowKey={({ key }) => key}
            rowProps={({ price, tier }) =>
              tier ? { "data-dim": "true" } : { "data-testid": "price-row", "data-source": price.source }
            }
          />
        )}
      </ListPage>
      {dialog?.kind === "edit" && (
        <PriceDialog projectId={projectId} id={dialog.id} initial={dialog.fields} onClose={close} />
      )}
      {dialog?.kind === "delete" && (
        <ConfirmDialog
          title={`Delete the price of “${dialog.model}”?`}
          action="Delete price"
          mutation={remove}
          onConfirm={() => remove.mutate(dialog.id, { onSuccess: close })}
          onClose={close}
        >
          New spans get the built-in price, or no cost if there is none. Stored spans keep their cost.
        </ConfirmDialog>
      )}
    </>
  );
}

function Source({ price }: { price: Price }) {
  if (!price.url) return sourceText(price);
  return (
    <Anchor href={price.url} target="_blank" rel="noreferrer" inherit c="inherit" underline="always">
      {sourceText(price)}
    </Anchor>
  );
}

/** Clients whose costs differ from what their tokens cost. Shows nothing if there are none. */
function Differences({ projectId }: { projectId: string }) {
  const query = useCostDifferences(projectId);
  const now = useNow(30_000);
  if (query.isError && !query.data) {
    return (
      <div className={classes.notice}>
        <ProblemPanel error={query.error} onRetry={() => query.refetch()} />
      </div>
    );
  }
  const differences = query.data?.data ?? [];
  if (differences.length === 0) return null;
  return (
    <section className={classes.notice} data-testid="cost-differences">
      <Title order={2} size="h5">
        Clients with other costs
      </Title>
      <p>
        In the last 7 days they sent costs that their tokens do not have by these prices. The cost that was
        sent counts. Either a count or a price is wrong.
      </p>
      <DataTable
        label="Clients with other costs"
        stacks
        columns={[
          { header: "Client", cell: ({ client }) => client || "unnamed" },
          { header: "Version", cell: ({ version }) => version || "unknown" },
          { header: "Model", cell: ({ model }) => model || "unnamed" },
          { header: "Spans", number: true, cell: (difference) => formatCount(difference.span_count) },
          { header: "Sent", number: true, cell: (difference) => formatCost(difference.sent_usd) },
          {
            header: "By these prices",
            number: true,
            cell: (difference) => formatCost(difference.computed_usd),
          },
          { header: "Last seen", number: true, cell: ({ last_seen }) => <Ago time={last_seen} now={now} /> },
        ]}
        rows={differences}
        rowKey={({ client, version, model }) => `${client} ${version} ${model}`}
      />
    </section>
  );
}

interface UnpricedProps {
  projectId: string;
  /** Missing if the user may not manage prices. */
  onAdd?: (model: Partial<Price>) => void;
}

/** Recently used models without a price. Shows nothing if there are none. */
function Unpriced({ projectId, onAdd }: UnpricedProps) {
  const query = useUnpricedModels(projectId);
  const now = useNow(30_000);
  if (query.isError && !query.data) {
    return (
      <div className={classes.notice}>
        <ProblemPanel error={query.error} onRetry={() => query.refetch()} />
      </div>
    );
  }
  const models = query.data?.data ?? [];
  if (models.length === 0) return null;
  return (
    <section className={classes.notice} data-testid="unpriced-models">
      <Title order={2} size="h5">
        Models without a price
      </Title>
      <p>Used in the last 7 days. Their calls have no cost.</p>
      <DataTable
        label="Models without a price"
        stacks
        columns={[
          { header: "Model", cell: ({ model }) => model || "unnamed" },
          { header: "Provider", cell: ({ provider }) => provider || "unnamed" },
          { header: "Spans", number: true, cell: (model) => formatCount(model.span_count) },
          { header: "Last seen", number: true, cell: (model) => <Ago time={model.last_seen} now={now} /> },
          {
            header: "Actions",
            hideHeader: true,
            cell: ({ model, provider }) =>
              onAdd &&
              model !== "" && (
                <Button size="compact-xs" variant="default" onClick={() => onAdd({ model, provider })}>
                  Set a price
                </Button>
              ),
          },
        ]}
        rows={models}
        rowKey={({ model, provider }) => `${provider} ${model}`}
      />
    </section>
  );
}
