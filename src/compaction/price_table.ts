/**
 * What models cost and cache, as their providers publish it: one table, every figure with the date it was last seen to stand
 * and the page it stands on. Data only.
 *
 * A model that is not in it, or a figure it lacks, is unknown: `prices` of the compactor's options says it.
 *
 * @module
 */

/** A published figure. */
export interface Figure {
  /** The figure. */
  readonly value: number;
  /** When it was last seen to stand, `YYYY-MM-DD`. */
  readonly date: string;
  /** Where it stands. */
  readonly source: string;
}

/** What is known of some models. */
export interface PriceRow {
  /** Names of models, without a date or a version behind them. */
  readonly models: readonly string[];
  /** US dollars for a million input tokens. */
  readonly input?: Figure;
  /** US dollars for a million input tokens where a prompt is longer than so many tokens. */
  readonly long?: { readonly over: Figure; readonly input: Figure };
  /** What reading a cached token costs, over a plain input token. */
  readonly read?: Figure;
  /** What writing one costs. */
  readonly write?: Figure;
  /** What writing one for the long time costs. */
  readonly writeLong?: Figure;
  /** Fewest tokens that are cached at all. */
  readonly minimum?: Figure;
  /** How long an unused prefix stays at most, milliseconds. */
  readonly ttl?: Figure;
  /** How long it stays where the request asks for the long time, milliseconds. */
  readonly ttlLong?: Figure;
  /** 1: nothing is cached but what the request marks. */
  readonly marked?: Figure;
  /** 1: words of a person strip the reasoning before them, and so miss what was cached behind it. */
  readonly strips?: Figure;
}

const from = (date: string, source: string) => (value: number): Figure => ({ value, date, source });

const caching = from(
  "2026-11-29",
  "Anthropic, Prompt caching: platform.claude.com/docs/en/build-with-claude/prompt-caching",
);
const pricing = from("2026-10-24", "Anthropic, Pricing: platform.claude.com/docs/en/about-claude/pricing");
const openai = from("2026-05-25", "OpenAI, Pricing: developers.openai.com/api/docs/pricing");
const openaiCaching = from(
  "2026-11-29",
  "OpenAI, Prompt caching: developers.openai.com/api/docs/guides/prompt-caching",
);
const gemini = from("2026-11-29", "Google, Context caching: ai.google.dev/gemini-api/docs/caching");
const vertex = from("2026-11-29", "Google Cloud, Context caching overview: docs.cloud.google.com");

/** What is the same for every Claude model. */
const claude = {
  write: caching(1.25),
  writeLong: caching(2),
  ttl: caching(300_000),
  ttlLong: caching(3_600_000),
  marked: caching(1),
};
/** Models that drop their reasoning when a person writes: all Haiku, Opus before 4.5, Sonnet before 4.6. */
const strips = caching(1);

const gpt = {
  read: openai(0.1),
  write: openai(1),
  minimum: openaiCaching(1_024),
  ttl: openaiCaching(3_600_000),
  ttlLong: openaiCaching(86_400_000),
};
const google = { read: vertex(0.1), write: vertex(1) };

/** The table. */
export const PRICE_TABLE: readonly PriceRow[] = [
  { ...claude, models: ["claude-fable-5-1"], input: pricing(10), read: caching(0.025), minimum: caching(512) },
  { ...claude, models: ["claude-mythos-5-1"], input: pricing(10), read: caching(0.025), minimum: caching(512) },
  { ...claude, models: ["claude-fable-5"], input: pricing(10), read: caching(0.1), minimum: caching(512) },
  { ...claude, models: ["claude-mythos-5"], input: pricing(10), read: caching(0.1), minimum: caching(512) },
  { ...claude, models: ["claude-mythos-preview"], read: caching(0.1), minimum: caching(2_048) },
  { ...claude, models: ["claude-opus-5-5"], input: pricing(4), read: pricing(0.05) },
  { ...claude, models: ["claude-opus-5"], input: pricing(5), read: caching(0.1), minimum: caching(512) },
  { ...claude, models: ["claude-opus-4-8"], input: pricing(5), read: caching(0.1), minimum: caching(1_024) },
  { ...claude, models: ["claude-opus-4-7"], input: pricing(5), read: caching(0.1), minimum: caching(2_048) },
  {
    ...claude,
    models: ["claude-opus-4-6", "claude-opus-4-5"],
    input: pricing(5),
    read: caching(0.1),
    minimum: caching(4_096),
  },
  {
    ...claude,
    models: ["claude-opus-4-1", "claude-opus-4", "claude-opus-4-0"],
    input: pricing(15),
    read: caching(0.1),
    minimum: caching(1_024),
    strips,
  },
  { ...claude, models: ["claude-sonnet-5-5"], input: pricing(2), read: pricing(0.05) },
  { ...claude, models: ["claude-sonnet-5"], input: pricing(2), read: caching(0.1), minimum: caching(1_024) },
  { ...claude, models: ["claude-sonnet-4-6"], input: pricing(3), read: caching(0.1), minimum: caching(1_024) },
  {
    ...claude,
    models: ["claude-sonnet-4-5", "claude-sonnet-4", "claude-sonnet-4-0"],
    input: pricing(3),
    read: caching(0.1),
    minimum: caching(1_024),
    strips,
  },
  {
    ...claude,
    models: ["claude-haiku-5-5"],
    input: pricing(0.1),
    long: { over: pricing(100_000), input: pricing(0.5) },
    read: pricing(0.1),
    strips,
  },
  {
    ...claude,
    models: ["claude-haiku-4-5"],
    input: pricing(1),
    read: caching(0.1),
    minimum: caching(4_096),
    strips,
  },
  {
    ...claude,
    models: ["claude-haiku-3-5", "claude-3-5-haiku"],
    input: pricing(0.8),
    read: caching(0.1),
    minimum: caching(2_048),
    strips,
  },
  { ...gpt, models: ["gpt-5.5"], input: openai(5) },
  { ...gpt, models: ["gpt-5.4"], input: openai(2.5) },
  { ...gpt, models: ["gpt-5.4-mini"], input: openai(0.75) },
  { ...gpt, models: ["gpt-5.4-nano"], input: openai(0.2) },
  {
    ...google,
    models: ["gemini-3.8-flash", "gemini-3.7-flash", "gemini-3.6-flash", "gemini-3.5-flash", "gemini-3.1-pro"],
    minimum: gemini(4_096),
  },
  { ...google, models: ["gemini-2.5-pro", "gemini-2.5-flash"], minimum: gemini(2_048) },
];
