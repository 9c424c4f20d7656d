/**
 * Makes the map of a file with a model: one request, and at most two repairs.
 *
 * Promised: the file goes out whole and numbered; every request is asked for first with `spend`; nothing that is cut off or
 * malformed is returned as a map; secrets are masked before anything is returned. Absent: the deadline and the pause after
 * a failure, which belong to whoever calls, and any check of what the model says; the audit does that.
 *
 * @module
 */

import { WaymarkError } from "../errors.ts";
import type {
  Completion,
  CompletionMessage,
  CompletionModel,
  CompletionRequest,
  Model,
  SourceFile,
  Summarizer,
  SummarizerContext,
  Summary,
  Usage,
} from "../types.ts";
import { ask } from "./ask.ts";
import { abortFailure, asRequestFailure, refuseNone, requestFailure } from "./failure.ts";
import { arrange, readRow } from "./normalize.ts";
import { type Answer, type Malformed, parseAnswer } from "./parse.ts";
import { mapPrompt, PROMPT_VERSION, PROSE_MAX, repairPrompt, SHORT_MAP_REGIONS, stripDelimiters } from "./prompt.ts";
import { type Masker, secrets } from "./secrets.ts";
import { cleanText, cutText } from "./text.ts";
import { freshToken } from "./token.ts";

/** Most requests one map may cost: the first and two repairs. */
export const MAX_REQUESTS = 3;

/** Fewest tokens an answer is given room for, a short file's and a reasoning model's thinking included. */
export const MIN_ANSWER_TOKENS = 4096;
/** Room for every line of the file beside that. A row takes about 50 tokens and stands for a dozen lines or more. */
export const ANSWER_TOKENS_PER_LINE = 4;
/** Most tokens an answer is given room for, where the model's own limit is not told. */
export const MAX_ANSWER_TOKENS = 16_384;

/** Longest part of a bad answer that is sent back with what is wrong with it, in UTF-16 code units. */
const MAX_ECHO = 64_000;

/** A prose longer than this is cut before it is looked at. */
const MAX_RAW_PROSE = 16_384;

/** Options of {@linkcode modelSummarizer}. */
export interface ModelSummarizerOptions {
  /** Most tokens the model can answer with, reasoning included. Default 16,384. */
  readonly maxOutputTokens?: number;
  /** What masks secrets. Default: the patterns secretlint maintains. */
  readonly masker?: Masker;
}

/** A completion model that also makes maps. */
export function withSummarizer(model: CompletionModel, options: ModelSummarizerOptions = {}): Model {
  const { name } = model;
  if (typeof name !== "string" || !cleanText(name) || cleanText(name) !== name) {
    throw new WaymarkError(
      "invalid-option",
      `Cannot use a model named ${JSON.stringify(name)}: give it a name of one line`,
    );
  }
  return {
    name,
    complete: (request: CompletionRequest): Promise<Completion> => ask(model, request),
    summarizer: modelSummarizer(model, options),
  };
}

/** The summarizer over a completion model. */
export function modelSummarizer(model: CompletionModel, options: ModelSummarizerOptions = {}): Summarizer {
  const { maxOutputTokens = MAX_ANSWER_TOKENS, masker = secrets } = options;
  if (!(maxOutputTokens >= 1)) {
    throw new WaymarkError(
      "invalid-option",
      `Cannot answer in ${maxOutputTokens} tokens: give maxOutputTokens a positive number`,
    );
  }
  return {
    maker: `model:${model.name}`,
    version: PROMPT_VERSION,
    async summarize(file: SourceFile, context: SummarizerContext): Promise<Summary> {
      const started = performance.now();
      let usage: Usage = { calls: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, ms: 0 };
      const request: Ask = async (body, problems) => {
        context.signal.throwIfAborted();
        context.spend(...(problems ? [problems] : []));
        usage = add(usage, { calls: 1 });
        const answer = await ask(model, { ...body, signal: context.signal });
        usage = add(usage, answer.usage);
        context.used?.(answer.usage);
        const { text, stopReason } = answer;
        const [said = ""] = stopReason === "refusal" ? await masker.mask([text.slice(0, MAX_RAW_PROSE)]) : [];
        refuseNone(model.name, stopReason, said);
        return answer;
      };
      const token = freshToken(file.text);
      try {
        await masker.load(); // before anything is spent: without it nothing could be kept
        const answer = await converse(request, {
          file,
          token,
          model: model.name,
          maxOutputTokens,
          signal: context.signal,
        });
        const map = await finish(answer, { file, token, model: model.name, masker });
        return { ...map, usage: { ...usage, ms: Math.round(performance.now() - started) } };
      } catch (error) {
        const { signal } = context;
        const failure = signal.aborted ? abortFailure(model.name, signal) : asRequestFailure(model.name, error);
        throw await nameFile(file.path, failure, masker);
      }
    },
  };
}

/** One request, paid for and counted. */
type Ask = (body: Omit<CompletionRequest, "signal">, problems?: readonly string[]) => Promise<Completion>;

/** What a run is about. */
interface Subject {
  readonly file: SourceFile;
  /** The random code of the delimiters. */
  readonly token: string;
  /** The model's name. */
  readonly model: string;
}

/** Asks, and sends bad answers back, until there is a good one, or prose alone, or no more requests. */
async function converse(
  request: Ask,
  { file, token, model, maxOutputTokens, signal }: Subject & { maxOutputTokens: number; signal: AbortSignal },
): Promise<Answer> {
  const { system, user } = mapPrompt(file, token);
  const question: CompletionMessage = { role: "user", content: user };
  let messages: readonly CompletionMessage[] = [question];
  let maxTokens = Math.floor(
    Math.min(MIN_ANSWER_TOKENS + file.lines * ANSWER_TOKENS_PER_LINE, MAX_ANSWER_TOKENS, maxOutputTokens),
  );
  let prose: string | undefined, problems: readonly string[] | undefined, asked = 0;
  while (asked < MAX_REQUESTS) {
    let completion: Completion, verdict: Answer | Malformed;
    try {
      completion = await request({ system, messages, maxTokens }, problems);
      verdict = judge(model, completion);
    } catch (error) {
      if (prose === undefined || signal.aborted) throw error;
      return { prose, rows: [] };
    }
    if ("rows" in verdict) return verdict;

    asked++;
    prose = verdict.prose ?? prose;
    problems = verdict.problems;
    if (completion.stopReason === "max_tokens") maxTokens = Math.floor(Math.min(maxTokens * 2, maxOutputTokens));
    if (verdict.empty) {
      // Reasoning ate the whole budget: there is no answer to send back, and one more try is enough.
      if (asked > 1) break;
      messages = [{ role: "user", content: `${user}\n\nKeep it short: ${SHORTER}.` }];
    } else {
      const echo = cutText(completion.text.toWellFormed().trim(), MAX_ECHO);
      messages = [question, { role: "assistant", content: echo }, { role: "user", content: repairPrompt(problems) }];
    }
  }
  if (prose !== undefined) return { prose, rows: [] };
  throw requestFailure(model, `none of ${asked} answers could be used, the last because ${problems?.join("; ")}`, {
    code: "bad-answer",
  });
}

/** Asked for after an answer that was cut off. */
const SHORTER = `at most ${SHORT_MAP_REGIONS} regions, with notes of a few words`;

/**
 * An answer, or what is wrong with it; throws where it is a failure that no repair could mend. One that was cut off cannot
 * be used however well it parses: a shorter list would pass for the whole one.
 */
function judge(model: string, { text, stopReason }: Completion): Answer | Malformed {
  const parsed = parseAnswer(text);
  const empty = "empty" in parsed && parsed.empty;
  if (stopReason === "max_tokens") {
    const { prose } = parsed;
    return {
      empty,
      problems: [`it was cut off by the token limit: give ${SHORTER}`],
      ...(prose?.trim() ? { prose } : {}),
    };
  }
  if (empty) throw requestFailure(model, "the answer is empty", { code: "empty-answer" });
  return parsed;
}

/** Cleans, masks and arranges. The mask comes before the cuts: half a secret matches no pattern. */
async function finish(
  answer: Answer,
  { file, token, model, masker }: Subject & { masker: Masker },
): Promise<Omit<Summary, "usage">> {
  const clean = (text: string): string => cleanText(stripDelimiters(text, token));
  const rows = answer.rows.map(readRow);
  const texts = rows.flatMap(({ name, note }) => [clean(name), clean(note)]);
  const [prose = "", ...rest] = await masker.mask([clean(answer.prose.slice(0, MAX_RAW_PROSE)), ...texts]);
  const masked = rows.map((row, index) => ({ ...row, name: rest[2 * index] ?? "", note: rest[2 * index + 1] ?? "" }));
  const { regions, dropped } = arrange(masked, file.lines);
  if (!regions.length && !prose) {
    throw requestFailure(model, "the answer holds no prose and no usable region", { code: "bad-answer" });
  }
  return { prose: cutText(prose, PROSE_MAX), regions, ...(dropped ? { dropped } : {}) };
}

function add(sum: Usage, { calls = 0, input = 0, output = 0, cacheRead = 0, cacheWrite = 0 }: Partial<Usage>): Usage {
  return {
    ...sum,
    calls: sum.calls + calls,
    input: sum.input + input,
    output: sum.output + output,
    cacheRead: sum.cacheRead + cacheRead,
    cacheWrite: sum.cacheWrite + cacheWrite,
  };
}

/** The failure of a whole run: the same, naming the file, and without secrets that a provider's words hold. */
async function nameFile(path: string, failure: WaymarkError, masker: Masker): Promise<WaymarkError> {
  const head = `Cannot summarize ${path}:`, { message } = failure;
  if (message.startsWith(head)) return failure;
  const [said = message] = await masker.mask([message]).catch(() => []); // without patterns nobody was asked
  return new WaymarkError(failure.code, `${head} ${said.replace(/^C(?=annot )/, "c")}`, {
    cause: failure,
    ...(failure.status === undefined ? {} : { status: failure.status }),
  });
}
