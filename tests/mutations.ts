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
  /** The test that must fail, by its name. */
  readonly named: string;
}

/** All of them. */
export const mutations: readonly Mutation[] = [
  {
    guarantee: "calling next twice is an error",
    file: "src/compose.ts",
    from: "XX",
    to: "",
    test: "compose_test.ts",
    named: "",
  },
];
