import { Alert, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { useProviderModels } from "@/api/providers";
import type { OutputStrategy, Provider, ProviderModel } from "@/api/types";
import { DataTable } from "@/components/DataTable";
import { Dialog } from "@/components/Dialog";
import { formatCost, formatCount, NONE, UNKNOWN } from "@/components/format";
import { QueryState, SkeletonRows } from "@/components/QueryState";
import { SearchBox } from "@/components/SearchBox";
import classes from "./Providers.module.css";

interface Props {
  projectId: string;
  provider: Provider;
  onClose: () => void;
}

/** Some providers list hundreds of models. */
const SHOWN = 100;

const strategies: Record<OutputStrategy, string> = {
  native: "by the provider",
  tool: "by a tool",
  json_mode: "by JSON mode",
  text: "in the text",
};

/** The models of a connection with their prices, and what calls of them taught. */
export function ModelsDialog({ projectId, provider, onClose }: Props) {
  const query = useProviderModels(projectId, provider.id);
  const [search, setSearch] = useState("");
  return (
    <Dialog onClose={onClose} title={`Models of “${provider.name}”`} size={980}>
      <QueryState query={query} skeleton={<SkeletonRows count={6} height={28} />}>
        {({ data, listed, message }) => {
          const found = data.filter(({ id }) => id.toLowerCase().includes(search.trim().toLowerCase()));
          return (
            <Stack gap="sm">
              {!listed && (
                <Alert variant="light" color="gray" p="xs">
                  The provider returned no list{message ? `: ${message}` : "."} You can use any model by its
                  name.
                </Alert>
              )}
              {data.length === 0 ? (
                <Text size="sm" c="dimmed">
                  No models yet. A model appears here after its first call.
                </Text>
              ) : (
                <>
                  <div>
                    <SearchBox
                      label="Search models"
                      placeholder="Search models"
                      value={search}
                      onChange={setSearch}
                    />
                  </div>
                  <Text size="xs" c="dimmed" role="status">
                    {found.length > SHOWN
                      ? `The first ${SHOWN} of ${formatCount(found.length)} models. Search to find others.`
                      : `${formatCount(found.length)} ${found.length === 1 ? "model" : "models"}.`}{" "}
                    Prices are in US dollars per million tokens.
                  </Text>
                  <Models models={found.slice(0, SHOWN)} />
                </>
              )}
            </Stack>
          );
        }}
      </QueryState>
    </Dialog>
  );
}

function Models({ models }: { models: ProviderModel[] }) {
  return (
    <DataTable<ProviderModel>
      label="Models"
      stacks
      rows={models}
      rowKey={({ id }) => id}
      rowProps={() => ({ "data-testid": "model-row" })}
      columns={[
        {
          header: "Model",
          cell: ({ id, listed }) => (
            <span className={classes.name}>
              {id}
              {!listed && <span className={classes.dim}>not in the provider's list</span>}
            </span>
          ),
        },
        { header: "Input", number: true, cell: ({ price }) => (price ? formatCost(price.input) : UNKNOWN) },
        { header: "Output", number: true, cell: ({ price }) => (price ? formatCost(price.output) : UNKNOWN) },
        {
          header: "Structured answers",
          cell: ({ output_strategy: strategy }) => (strategy ? strategies[strategy] : NONE),
        },
        {
          header: "Learned",
          ownLine: true,
          cell: ({ notes }) =>
            notes.length > 0 && (
              <ul className={classes.notes}>
                {notes.map(({ parameter, message }) => (
                  <li key={parameter}>
                    <code>{parameter}</code> {message}
                  </li>
                ))}
              </ul>
            ),
        },
      ]}
    />
  );
}
