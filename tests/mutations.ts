/**
 * The mutations: each breaks one line of the source that a guarantee rests on, and names the test that must fail.
 *
 * @module
 */

/** One line of the source, broken on purpose. */
export interface Mutation {
  /** What is promised, in the words of ARCHITECTURE.md's list. */
  readonly guarantee: string;
  /** The file, from the project's folder. */
  readonly file: string;
  /** A text that is there exactly once. */
  readonly from: string;
  /** What stands in its place. */
  readonly to: string;
  /** The test file, from `tests/`. */
  readonly test: string;
  /** The test that must fail: its subject and its name, as in `compose() > runs the first layer outermost`. */
  readonly named: string;
}

/** All of them. */
export const mutations: readonly Mutation[] = [
  {
    guarantee: "a layer calls next at most once",
    file: "src/compose.ts",
    from: "const outcome = called\n",
    to: "const outcome = false\n",
    test: "compose_test.ts",
    named: "compose() > rejects a second next() from one layer",
  },
  {
    guarantee: "a dropped promise never kills the process",
    file: "src/compose.ts",
    from: "outcome.catch(() => {});",
    to: "",
    test: "compose_test.ts",
    named: "compose() > lets a layer drop next()'s promise without an unhandled rejection",
  },
  {
    guarantee: "a failed tool beats a layer's answer",
    file: "src/compose.ts",
    from: "(outcome.failed || !half.answer)",
    to: "(!half.answer)",
    test: "compose_test.ts",
    named: "split() > lets the tool's failure beat a layer's answer",
  },
  {
    guarantee: "a long read is shortened to 200 lines",
    file: "src/read_guard.ts",
    from: "const outcome = await next({ ...call, count: maxLines });",
    to: "const outcome = await next(call);",
    test: "read_guard_test.ts",
    named: "shortens 201 lines and passes 200, with and without a final newline",
  },
  {
    guarantee: "exactly 200 lines pass",
    file: "src/read_guard.ts",
    from: "if (lines < maxLines || to === bytes.length) return undefined;",
    to: "if (lines < maxLines) return undefined;",
    test: "read_guard_test.ts",
    named: "shortens 201 lines and passes 200, with and without a final newline",
  },
  {
    guarantee: "a short call costs no I/O",
    file: "src/read_guard.ts",
    from: "count <= maxLines)",
    to: "count < maxLines)",
    test: "read_guard_test.ts",
    named: "passes a call for 200 lines or fewer on at once: no disk, no hash, the same argument object",
  },
  {
    guarantee: "scripts read everything",
    file: "src/read_guard.ts",
    from: "|| programmatic || fresh)",
    to: "|| fresh)",
    test: "read_guard_test.ts",
    named: "leaves scripts' reads and insistent reads alone",
  },
  {
    guarantee: "without a map the read runs as asked",
    file: "src/read_guard.ts",
    from: "return annotated(await next(call), failed(path, error));",
    to: "return annotated(await next({ ...call, count: maxLines }), failed(path, error));",
    test: "read_guard_test.ts",
    named: "reads exactly as asked and says why in the result",
  },
  {
    guarantee: "prose alone is no map",
    file: "src/read_guard.ts",
    from: "if (map.regions.length) return await cap(call, long, map, next);",
    to: "return await cap(call, long, map, next);",
    test: "read_guard_test.ts",
    named: "gives the prose and the words that there is no map where only prose could be made",
  },
  {
    guarantee: "a map is withheld where the lines are not the hashed ones",
    file: "src/read_guard.ts",
    from: "if (shown === 0) {",
    to: "if (shown < 0) {",
    test: "read_guard_test.ts",
    named: "withholds the map and reads as asked where the tool's lines are not the hashed ones",
  },
  {
    guarantee: "where the shortened call fails the full one is made",
    file: "src/read_guard.ts",
    from: "outcome : { ...outcome, again: true };",
    to: "outcome : outcome;",
    test: "read_guard_test.ts",
    named: "reads as asked where the shortened call fails, and gives that call's own error where it fails too",
  },
  {
    guarantee: "one run for one content at once",
    file: "src/maps.ts",
    from: "runs.set(key, own);",
    to: "",
    test: "maps_test.ts",
    named: "shares one run between all that ask for one content at once",
  },
  {
    guarantee: "no request passes the ceiling",
    file: "src/maps.ts",
    from: "if (calls >= maxModelCalls) {",
    to: "if (calls > maxModelCalls) {",
    test: "maps_test.ts",
    named: "lets no request pass the ceiling of model calls, repairs included",
  },
  {
    guarantee: "a lesser maker's map is a miss",
    file: "src/maps.ts",
    from: "return map && rank(map.maker) >= rank(summarizer.maker) ? map : undefined;",
    to: "return map;",
    test: "maps_test.ts",
    named: "counts an entry of a lesser maker as a miss and replaces it, never the other way round",
  },
  {
    guarantee: "a failed content is left alone for a while",
    file: "src/maps.ts",
    from: "failures.set(hash, failure);",
    to: "",
    test: "maps_test.ts",
    named: "leaves a failed content alone for a while, then tries again, and says when",
  },
  {
    guarantee: "an explicit request is always tried",
    file: "src/maps.ts",
    from: "if (!refresh && !insist) checkPause(file);",
    to: "if (!refresh) checkPause(file);",
    test: "maps_test.ts",
    named: "always tries an explicit request",
  },
  {
    guarantee: "so many model calls at once",
    file: "src/maps.ts",
    from: "if (active < most) {",
    to: "if (active <= most) {",
    test: "maps_test.ts",
    named: "runs so many models at once and no more, and the rest in order",
  },
  {
    guarantee: "a run ends at its deadline",
    file: "src/maps.ts",
    from: ": deadline.aborted\n",
    to: ": false\n",
    test: "maps_test.ts",
    named: "ends a run at its deadline, also where the summarizer does not listen, and says so",
  },
  {
    guarantee: "a run goes on for those who still wait",
    file: "src/maps.ts",
    from: "if (--shared.waiting === 0 &&",
    to: "if (--shared.waiting >= 0 &&",
    test: "maps_test.ts",
    named: "lets one waiter go without ending the run the others wait for, and ends it with the last",
  },
  {
    guarantee: "at most three requests a file",
    file: "src/summary/model.ts",
    from: "while (asked < MAX_REQUESTS) {",
    to: "while (asked <= MAX_REQUESTS) {",
    test: "summary/model_test.ts",
    named: "three times is a failure where there is no usable prose",
  },
  {
    guarantee: "a map that was cut off is no map",
    file: "src/summary/model.ts",
    from: 'if (stopReason === "max_tokens") {\n    const',
    to: "if (false) {\n    const",
    test: "summary/model_test.ts",
    named: "three times is prose alone, and no part of a map",
  },
  {
    guarantee: "a refusal is a failure",
    file: "src/summary/model.ts",
    from: 'if (stopReason === "refusal") {',
    to: 'if (stopReason === "refusal" && !text) {',
    test: "summary/model_test.ts",
    named: "is a refusal that comes with a fine answer",
  },
  {
    guarantee: "a region ends inside the file",
    file: "src/summary/normalize.ts",
    from: "Math.max(first, Math.min(end, lines))",
    to: "Math.max(first, end)",
    test: "summary/normalize_test.ts",
    named: "past the end are cut to it",
  },
  {
    guarantee: "a reversed range is one line",
    file: "src/summary/normalize.ts",
    from: "Math.max(first, Math.min(end, lines))",
    to: "Math.min(end, lines)",
    test: "summary/normalize_test.ts",
    named: "in reverse become one line",
  },
  {
    guarantee: "a row outside the file is dropped",
    file: "src/summary/normalize.ts",
    from: "if (first > lines) return undefined;",
    to: "",
    test: "summary/normalize_test.ts",
    named: "wholly outside drop the row and count it",
  },
  {
    guarantee: "a model's map is flat",
    file: "src/summary/normalize.ts",
    from: "next && next.start <= region.end ?",
    to: "next && next.start < region.start ?",
    test: "summary/normalize_test.ts",
    named: "do not overlap: the earlier one ends before the next begins",
  },
  {
    guarantee: "a better maker's entry is never replaced",
    file: "src/cache/cache.ts",
    from: 'if (present && !force && (present["rank"] as number) > rank(map.maker)) return false;',
    to: "",
    test: "cache/cache_test.ts",
    named: "replaces a scanner's by an outline's by a model's, never the other way round",
  },
];
