import {
  ActionIcon,
  Anchor,
  Button,
  Menu,
  Skeleton,
  Stack,
  Table,
  Text,
  TextInput,
  Title,
  Tooltip,
  VisuallyHidden,
} from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconDots, IconPencil, IconPlus, IconSearch, IconTrash } from "@tabler/icons-react";
import { useState } from "react";
import { Link } from "react-router";
import { usePrices, useUnpricedModels } from "@/api/prices";
import type { Price } from "@/api/types";
import { Delayed } from "@/components/Delayed";
import { formatAge, formatCount, formatTime } from "@/components/format";
import { Page } from "@/components/Page";
import { ProblemPanel } from "@/components/ProblemPanel";
import { useNow } from "@/components/useNow";
import { allows, useProject, useProjectId } from "@/components/useProject";
import { DeletePriceDialog } from "./DeletePriceDialog";
import { PriceDialog } from "./PriceDialog";
import classes from "./PricesPage.module.css";
import { fieldsOf, formatRate, type PriceFields, rateLabels, rates, sourceText } from "./prices";

type Dialog = { kind: "edit"; id: string | null; fields: PriceFields } | { kind: "delete"; price: Price };

/** What tokens cost the project: models without a price first, then its own prices, then the table's. */
export function PricesPage() {
  const projectId = useProjectId();
  const mayManage = allows(useProject(), "admin");
  const [dialog, setDialog] = useState<Dialog | null>(null);
  const close = () => setDialog(null);
  const add = (model: Partial<Price>) => setDialog({ kind: "edit", id: null, fields: fieldsOf(model) });

  return (
    <Page
      title="Prices"
      context={
        <>
          US dollars for a million tokens. Part of the{" "}
          <Anchor component={Link} to={`/p/${projectId}/settings`} inherit underline="always">
            settings
          </Anchor>
          .
        </>
      }
      actions={
        mayManage && (
          <Button leftSection={<IconPlus size={14} />} onClick={() => add({})}>
            New price
          </Button>
        )
      }
    >
      <Unpriced projectId={projectId} mayManage={mayManage} onAdd={add} />
      <PriceList projectId={projectId} mayManage={mayManage} onDialog={setDialog} />
      {dialog?.kind === "edit" && (
        <PriceDialog projectId={projectId} id={dialog.id} initial={dialog.fields} onClose={close} />
      )}
      {dialog?.kind === "delete" && (
        <DeletePriceDialog target={dialog.price} projectId={projectId} onClose={close} />
      )}
    </Page>
  );
}

interface UnpricedProps {
  projectId: string;
  mayManage: boolean;
  onAdd: (model: Partial<Price>) => void;
}

/** The models of the last days whose calls have no cost; nothing where every one has. */
function Unpriced({ projectId, mayManage, onAdd }: UnpricedProps) {
  const query = useUnpricedModels(projectId);
  const now = useNow(30_000);
  if (query.isError && !query.data) {
    return (
      <div className={classes.unpriced}>
        <ProblemPanel error={query.error} onRetry={() => query.refetch()} />
      </div>
    );
  }
  const models = query.data?.data ?? [];
  if (models.length === 0) return null;
  return (
    <section className={classes.unpriced} data-testid="unpriced-models">
      <Title order={2} size="h5">
        Without a price
      </Title>
      <Text size="sm" c="dimmed">
        Models of the last 7 days. Their calls have no cost.
      </Text>
      <div className={classes.list}>
        <Table className={classes.table} verticalSpacing={6}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Model</Table.Th>
              <Table.Th>Provider</Table.Th>
              <Table.Th ta="right">Spans</Table.Th>
              <Table.Th ta="right">Last seen</Table.Th>
              <Table.Th>
                <VisuallyHidden>Actions</VisuallyHidden>
              </Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {models.map((model) => (
              <Table.Tr key={`${model.provider} ${model.model}`}>
                <Table.Td className={classes.name}>{model.model || "not named"}</Table.Td>
                <Table.Td className={classes.name}>{model.provider || "not named"}</Table.Td>
                <Table.Td ta="right">{formatCount(model.span_count)}</Table.Td>
                <Table.Td ta="right" title={formatTime(model.last_seen)}>
                  {formatAge(model.last_seen, now)} ago
                </Table.Td>
                <Table.Td ta="right">
                  {mayManage && model.model !== "" && (
                    <Button
                      size="compact-xs"
                      variant="default"
                      onClick={() => onAdd({ model: model.model, provider: model.provider })}
                    >
                      Set a price
                    </Button>
                  )}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </div>
    </section>
  );
}

interface ListProps {
  projectId: string;
  mayManage: boolean;
  onDialog: (dialog: Dialog) => void;
}

function PriceList({ projectId, mayManage, onDialog }: ListProps) {
  const [search, setSearch] = useState("");
  const [searched] = useDebouncedValue(search.trim(), 200);
  const query = usePrices(projectId, searched);
  const found = query.data?.pages.flatMap((page) => page.data) ?? [];
  return (
    <section>
      <TextInput
        aria-label="Search prices"
        placeholder="Search models and providers"
        leftSection={<IconSearch size={14} />}
        value={search}
        onChange={(event) => setSearch(event.currentTarget.value)}
        maxLength={256}
        maw={360}
        mb="sm"
      />
      {query.isPending ? (
        <Delayed>
          <Stack gap={6} aria-busy="true">
            {[0, 1, 2, 3, 4].map((row) => (
              <Skeleton key={row} h={30} />
            ))}
          </Stack>
        </Delayed>
      ) : query.isError && !query.data ? (
        <ProblemPanel error={query.error} onRetry={() => query.refetch()} />
      ) : found.length === 0 ? (
        <Text c="dimmed" py="xl" ta="center">
          No price of a model or provider that contains “{searched}”.
        </Text>
      ) : (
        <div className={classes.list}>
          <Table className={classes.table} verticalSpacing={6} highlightOnHover>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Model</Table.Th>
                <Table.Th>Provider</Table.Th>
                {rates.map((rate) => (
                  <Table.Th key={rate} ta="right">
                    {rateLabels[rate]}
                  </Table.Th>
                ))}
                <Table.Th>From</Table.Th>
                <Table.Th>Source</Table.Th>
                <Table.Th>
                  <VisuallyHidden>Actions</VisuallyHidden>
                </Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {found.map((price) => (
                <PriceRows
                  key={price.id ?? `${price.provider} ${price.model} ${price.valid_from}`}
                  price={price}
                  mayManage={mayManage}
                  onDialog={onDialog}
                />
              ))}
            </Table.Tbody>
          </Table>
          {query.hasNextPage && (
            <Button
              variant="default"
              mt="sm"
              loading={query.isFetchingNextPage}
              onClick={() => query.fetchNextPage()}
            >
              More prices
            </Button>
          )}
        </div>
      )}
    </section>
  );
}

interface RowProps {
  price: Price;
  mayManage: boolean;
  onDialog: (dialog: Dialog) => void;
}

/** A price, and below it those of calls with a longer input. */
function PriceRows({ price, mayManage, onDialog }: RowProps) {
  const edit = (id: string | null) => onDialog({ kind: "edit", id, fields: fieldsOf(price) });
  return (
    <>
      <Table.Tr data-testid="price-row" data-source={price.source}>
        <Table.Td className={classes.name}>{price.model}</Table.Td>
        <Table.Td className={classes.name}>{price.provider || "every"}</Table.Td>
        {rates.map((rate) => (
          <Table.Td key={rate} ta="right">
            {formatRate(price[rate])}
          </Table.Td>
        ))}
        <Table.Td>{price.valid_from?.slice(0, 10)}</Table.Td>
        <Table.Td>
          {price.url ? (
            <Anchor
              href={price.url}
              target="_blank"
              rel="noreferrer"
              size="sm"
              c="inherit"
              underline="always"
            >
              {sourceText(price)}
            </Anchor>
          ) : (
            sourceText(price)
          )}
        </Table.Td>
        <Table.Td ta="right">
          {mayManage && (
            <Menu position="bottom-end">
              <Tooltip label="Actions">
                <Menu.Target>
                  <ActionIcon
                    variant="subtle"
                    color="gray"
                    size="sm"
                    aria-label={`Actions for ${price.model}`}
                  >
                    <IconDots size={16} />
                  </ActionIcon>
                </Menu.Target>
              </Tooltip>
              <Menu.Dropdown>
                <Menu.Item leftSection={<IconPencil size={15} />} onClick={() => edit(price.id)}>
                  {price.source === "project" ? "Edit" : "Override"}
                </Menu.Item>
                {price.source === "project" && (
                  <Menu.Item
                    leftSection={<IconTrash size={15} />}
                    color="red"
                    c="var(--lt-error-text)"
                    onClick={() => onDialog({ kind: "delete", price })}
                  >
                    Delete
                  </Menu.Item>
                )}
              </Menu.Dropdown>
            </Menu>
          )}
        </Table.Td>
      </Table.Tr>
      {price.tiers.map((tier) => (
        <Table.Tr key={tier.above} className={classes.tier}>
          <Table.Td colSpan={2}>over {formatCount(tier.above)} input tokens</Table.Td>
          {rates.map((rate) => (
            <Table.Td key={rate} ta="right">
              {formatRate(tier[rate])}
            </Table.Td>
          ))}
          <Table.Td colSpan={3} />
        </Table.Tr>
      ))}
    </>
  );
}
