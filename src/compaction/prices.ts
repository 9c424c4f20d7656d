/**
 * What is known of the model of a request: the table's figures, and the host's own over them. Pure.
 *
 * Promised: a figure that is not known is `undefined`, never guessed. Absent: output prices; both kinds of call write the same
 * summary.
 *
 * @module
 */

import { PRICE_TABLE, type PriceRow } from "./price_table.ts";
import type { CachePrices } from "./types.ts";

/** Share of a prefix that is expected to be read as long as no usage was reported: the median of a public measurement. */
export const DEFAULT_HIT_SHARE = 0.857;

/** What a model caches. */
export interface CacheFacts extends Partial<Omit<CachePrices, "priceRatio" | "needsSuperset" | "hitShare">> {
  /** The cache is read only by a request that begins with the whole of one sent before. */
  readonly needsSuperset: boolean;
  /** Share of a prefix that is expected to be read as long as no usage was reported. */
  readonly hitShare: number;
  /** Nothing is cached but what the request marks. */
  readonly needsMarks: boolean;
  /** Words of a person strip the reasoning before them. */
  readonly stripsThinking: boolean;
}

/** The row of a model, whoever sells it: `anthropic/claude-opus-4.5`, `eu.anthropic.claude-opus-4-5-20251101-v1:0`. */
export function findPrices(model: string | undefined): PriceRow | undefined {
  if (!model) return undefined;
  const bare = model.toLowerCase().replace(/^.*\//, "").replace(/^(?:.*\.)?anthropic\./, "")
    .replace(/(?:-v\d+)?(?::\w+)?$/, "").replace(/[@-]20\d\d-?\d\d-?\d\d$/, "").replace(/-(?:latest|preview)$/, "");
  const names = [bare, bare.replaceAll(".", "-"), `${bare}-preview`];
  return PRICE_TABLE.find((row) => names.some((name) => row.models.includes(name)));
}

/** What the model of a request caches. `isLong`: the request asks for the long time. */
export function cacheFacts(
  model: string | undefined,
  { prices = {}, isLong = false }: { readonly prices?: Partial<CachePrices> | undefined; readonly isLong?: boolean } =
    {},
): CacheFacts {
  const row = findPrices(model), { needsSuperset = true, hitShare = DEFAULT_HIT_SHARE } = prices;
  const known = {
    read: prices.read ?? row?.read?.value,
    write: prices.write ?? (isLong ? row?.writeLong ?? row?.write : row?.write)?.value,
    minimumTokens: prices.minimumTokens ?? row?.minimum?.value,
    ttlMs: prices.ttlMs ?? (isLong ? row?.ttlLong ?? row?.ttl : row?.ttl)?.value,
  };
  const figures = Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined));
  return {
    ...figures,
    needsSuperset,
    hitShare,
    needsMarks: row?.marked?.value === 1,
    stripsThinking: row?.strips?.value === 1,
  };
}

/** Two models and the tokens each is sent. */
export interface PricedPair {
  /** The model of the conversation, and tokens of the prefix. */
  readonly main: string | undefined;
  readonly prefixTokens: number;
  /** The model of standalone summaries, and tokens of the span. `undefined`: the same model. */
  readonly summarizer: string | undefined;
  readonly spanTokens: number;
}

/** Input price of the main model over that of the summarizer; `undefined` where it is not known. */
export function priceRatio(pair: PricedPair, prices: Partial<CachePrices> = {}): number | undefined {
  if (prices.priceRatio !== undefined) return prices.priceRatio;
  const { main, summarizer, prefixTokens, spanTokens } = pair;
  const isSame = summarizer === undefined || summarizer === main;
  const mainPrice = inputPrice(main, prefixTokens), price = inputPrice(isSame ? main : summarizer, spanTokens);
  if (mainPrice !== undefined && price !== undefined) return mainPrice / price;
  return isSame ? 1 : undefined;
}

/** Dollars for a million input tokens of a prompt of so many. */
function inputPrice(model: string | undefined, tokens: number): number | undefined {
  const row = findPrices(model);
  return (row?.long && tokens > row.long.over.value ? row.long.input : row?.input)?.value;
}
