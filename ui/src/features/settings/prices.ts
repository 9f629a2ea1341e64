import type { Price, PriceWrite } from "@/api/types";
import { numberMistake } from "@/components/formErrors";

/** The rates of a price, in the order of the table and the form. */
export const rates = ["input", "output", "cache_read", "cache_write", "cache_write_1h", "reasoning"] as const;

export type Rate = (typeof rates)[number];

export const rateLabels: Record<Rate, string> = {
  input: "Input",
  output: "Output",
  cache_read: "Cache read",
  cache_write: "Cache write",
  cache_write_1h: "Cache write (1 h)",
  reasoning: "Reasoning",
};

/** What an empty rate defaults to. Input and output are required. */
export const rateDefaults: Partial<Record<Rate, string>> = {
  cache_read: "same as input",
  cache_write: "same as input",
  cache_write_1h: "same as cache write",
  reasoning: "same as output",
};

/** The form's fields, as typed. */
export interface PriceFields {
  provider: string;
  model: string;
  /** A day in UTC, YYYY-MM-DD. Empty means always. */
  validFrom: string;
  rates: Partial<Record<Rate, string>>;
}

/** The form's fields for a price, or for a new price of a model. */
export function fieldsOf(price: Partial<Price>): PriceFields {
  const shown: Partial<Record<Rate, string>> = {};
  for (const rate of rates) {
    const value = price[rate];
    if (value !== null && value !== undefined) shown[rate] = String(value);
  }
  return {
    provider: price.provider ?? "",
    model: price.model ?? "",
    validFrom: price.valid_from?.slice(0, 10) ?? "",
    rates: shown,
  };
}

/** The price that the fields describe. */
export function priceOf(fields: PriceFields): PriceWrite {
  const number = (rate: Rate) => {
    const text = fields.rates[rate];
    return text === undefined || text === "" ? null : Number(text);
  };
  return {
    provider: fields.provider.trim(),
    model: fields.model.trim(),
    valid_from: fields.validFrom === "" ? null : `${fields.validFrom}T00:00:00Z`,
    input: number("input") ?? 0,
    output: number("output") ?? 0,
    cache_read: number("cache_read"),
    cache_write: number("cache_write"),
    cache_write_1h: number("cache_write_1h"),
    reasoning: number("reasoning"),
  };
}

/** Whether the form has a model and both required rates, and no mistake. A free model has zeros. */
export function isComplete(fields: PriceFields): boolean {
  const known = (rate: Rate) => fields.rates[rate] !== undefined && fields.rates[rate] !== "";
  const hasMistake = rates.some((rate) => numberMistake(fields.rates[rate] ?? ""));
  return fields.model.trim() !== "" && known("input") && known("output") && !hasMistake;
}

/** Dollars per million tokens, with all digits. */
export function formatRate(rate: number | null): string {
  if (rate === null) return "";
  return `$${rate.toLocaleString("en-US", { maximumFractionDigits: 10 })}`;
}

/** Where a price comes from. */
export function sourceText(price: Price): string {
  return price.source === "project" ? "this project" : `built-in, ${price.version}`;
}

/** A row of the table: a price, or one of its tiers for calls with longer input. */
export interface PriceRow {
  key: string;
  price: Price;
  tier?: Price["tiers"][number];
}

/** Each price, followed by its tiers. */
export function priceRows(prices: readonly Price[]): PriceRow[] {
  return prices.flatMap((price) => {
    const key = price.id ?? `${price.provider} ${price.model} ${price.valid_from}`;
    return [{ key, price }, ...price.tiers.map((tier) => ({ key: `${key} ${tier.above}`, price, tier }))];
  });
}
