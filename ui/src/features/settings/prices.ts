import type { Price, PriceWrite } from "@/api/types";

/** The rates of a price, in the order in which they stand in the table and the form. */
export const rates = ["input", "output", "cache_read", "cache_write", "cache_write_1h", "reasoning"] as const;

export type Rate = (typeof rates)[number];

export const rateLabels: Record<Rate, string> = {
  input: "Input",
  output: "Output",
  cache_read: "Cache read",
  cache_write: "Cache write",
  cache_write_1h: "Write, 1 h",
  reasoning: "Reasoning",
};

/** What an empty field of a rate stands for; input and output have none. */
export const rateDefaults: Partial<Record<Rate, string>> = {
  cache_read: "as input",
  cache_write: "as input",
  cache_write_1h: "as cache write",
  reasoning: "as output",
};

/** What stands in the fields of the form, as typed. */
export interface PriceFields {
  provider: string;
  model: string;
  /** A day, YYYY-MM-DD, in UTC; empty: from the beginning. */
  validFrom: string;
  rates: Partial<Record<Rate, string>>;
}

/** The fields that show a price, or those of a new one for a model that has none. */
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

/** The price that the fields say. */
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

/** Whether the form can be sent: a model, and both rates that every price has. A free model has zeros. */
export function isComplete(fields: PriceFields): boolean {
  const known = (rate: Rate) => fields.rates[rate] !== undefined && fields.rates[rate] !== "";
  return fields.model.trim() !== "" && known("input") && known("output");
}

/** Dollars for a million tokens, all digits: a price is exact. */
export function formatRate(rate: number | null): string {
  if (rate === null) return "";
  return `$${rate.toLocaleString("en-US", { maximumFractionDigits: 10 })}`;
}

/** Where a price is from, in words. */
export function sourceText(price: Price): string {
  return price.source === "project" ? "this project" : `table of ${price.version}`;
}
