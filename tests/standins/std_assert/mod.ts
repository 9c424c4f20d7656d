/**
 * Stand-in for `@std/assert`: the assertions the tests use, with the same names, types and verdicts; the messages are plainer.
 *
 * @module
 */

import { inspect } from "node:util";
import { equal } from "./equal.ts";
import { pick } from "./match_object.ts";

export { equal };

/** What a failed assertion throws. */
export class AssertionError extends Error {
  override name = "AssertionError";
}

// deno-lint-ignore no-explicit-any -- any constructor is meant
type Class<T> = abstract new (...parameters: any[]) => T;
/** What is not truthy. */
export type Falsy = false | 0 | 0n | "" | null | undefined;
/** An array-like that is not a string. */
export type ArrayLikeArg<T> = ArrayLike<T> & object;

function show(value: unknown): string {
  return inspect(value, { depth: 8, maxArrayLength: 100, maxStringLength: 4_000 });
}

function refuse(message: string, note?: string): never {
  throw new AssertionError(note ? `${message}: ${note}` : message);
}

/** Fails where the value is falsy. */
export function assert(expr: unknown, msg = ""): asserts expr {
  if (!expr) throw new AssertionError(msg);
}

/** Fails where the value is truthy. */
export function assertFalse(expr: unknown, msg = ""): asserts expr is Falsy {
  if (expr) throw new AssertionError(msg);
}

/** Fails where the values are not deeply equal. */
export function assertEquals<T>(actual: T, expected: T, msg?: string): void {
  if (!equal(actual, expected)) {
    refuse(`Values are not equal\n    actual: ${show(actual)}\n  expected: ${show(expected)}`, msg);
  }
}

/** Fails where the values are deeply equal. */
export function assertNotEquals<T>(actual: T, expected: T, msg?: string): void {
  if (equal(actual, expected)) refuse(`Values are equal: ${show(actual)}`, msg);
}

/** Fails where the values are not the same. */
export function assertStrictEquals<T>(actual: unknown, expected: T, msg?: string): asserts actual is T {
  if (!Object.is(actual, expected)) {
    refuse(`Values are not strictly equal\n    actual: ${show(actual)}\n  expected: ${show(expected)}`, msg);
  }
}

/** Fails where the values are the same. */
export function assertNotStrictEquals<T>(actual: T, expected: T, msg?: string): void {
  if (Object.is(actual, expected)) refuse(`Values are strictly equal: ${show(actual)}`, msg);
}

/** Fails where the value is null or undefined. */
export function assertExists<T>(actual: T, msg?: string): asserts actual is NonNullable<T> {
  if (actual === undefined || actual === null) refuse(`Expected a value, got ${actual}`, msg);
}

/** Fails where the value is no instance of the class. */
export function assertInstanceOf<T extends Class<unknown>>(
  actual: unknown,
  expectedType: T,
  msg?: string,
): asserts actual is InstanceType<T> {
  if (!(actual instanceof expectedType)) {
    refuse(`Expected an instance of ${expectedType.name}, got ${show(actual)}`, msg);
  }
}

/** Fails where the text does not match. */
export function assertMatch(actual: string, expected: RegExp, msg?: string): void {
  if (!expected.test(actual)) refuse(`Expected "${actual}" to match ${expected}`, msg);
}

/** Fails where the text matches. */
export function assertNotMatch(actual: string, expected: RegExp, msg?: string): void {
  if (expected.test(actual)) refuse(`Expected "${actual}" not to match ${expected}`, msg);
}

/** Fails where the text does not contain the other. */
export function assertStringIncludes(actual: string, expected: string, msg?: string): void {
  if (!actual.includes(expected)) refuse(`Expected "${actual}" to contain "${expected}"`, msg);
}

/** Fails where a value is missing from the array. */
export function assertArrayIncludes<T>(actual: ArrayLikeArg<T>, expected: ArrayLikeArg<T>, msg?: string): void {
  const missing = Array.from(expected).filter((item) => !Array.from(actual).some((other) => equal(item, other)));
  if (missing.length > 0) refuse(`Expected ${show(actual)} to include ${show(missing)}`, msg);
}

/** Fails where the object lacks a part of the expected one. */
export function assertObjectMatch(
  // deno-lint-ignore no-explicit-any -- any object is meant
  actual: Record<PropertyKey, any>,
  expected: Record<PropertyKey, unknown>,
  msg?: string,
): void {
  assertEquals(pick(actual, expected), pick(expected, expected), msg);
}

/** Fails where the first is not greater. */
export function assertGreater<T>(actual: T, expected: T, msg?: string): void {
  if (!(actual > expected)) refuse(`Expected ${show(actual)} > ${show(expected)}`, msg);
}

/** Fails where the first is less. */
export function assertGreaterOrEqual<T>(actual: T, expected: T, msg?: string): void {
  if (!(actual >= expected)) refuse(`Expected ${show(actual)} >= ${show(expected)}`, msg);
}

/** Fails where the first is not less. */
export function assertLess<T>(actual: T, expected: T, msg?: string): void {
  if (!(actual < expected)) refuse(`Expected ${show(actual)} < ${show(expected)}`, msg);
}

/** Fails where the first is greater. */
export function assertLessOrEqual<T>(actual: T, expected: T, msg?: string): void {
  if (!(actual <= expected)) refuse(`Expected ${show(actual)} <= ${show(expected)}`, msg);
}

/** Fails where the numbers differ by more than the tolerance (default: a ten-millionth of the expected one). */
export function assertAlmostEquals(actual: number, expected: number, tolerance?: number, msg?: string): void {
  if (Object.is(actual, expected)) return;
  const allowed = tolerance ?? (Number.isFinite(expected) ? Math.abs(expected * 1e-7) : 1e-7);
  if (!(Math.abs(expected - actual) <= allowed)) {
    refuse(`Expected ${actual} to be within ${allowed} of ${expected}`, msg);
  }
}

/** Fails where the value is no such error. */
export function assertIsError<E extends Error = Error>(
  error: unknown,
  errorClass?: Class<E>,
  msgMatches?: string | RegExp,
  msg?: string,
): asserts error is E {
  if (!(error instanceof Error)) refuse(`Expected an error, got ${show(error)}`, msg);
  if (errorClass && !(error instanceof errorClass)) {
    refuse(`Expected an instance of ${errorClass.name}, got ${error.constructor.name}: ${error.message}`, msg);
  }
  const fits = msgMatches instanceof RegExp ? msgMatches.test(error.message) : error.message.includes(msgMatches ?? "");
  if (!fits) refuse(`Expected the message to include ${show(msgMatches)}, got ${show(error.message)}`, msg);
}

/** Fails where the function does not throw, or throws another error. Returns what it threw. */
export function assertThrows(fn: () => unknown, msg?: string): unknown;
/** Fails where the function does not throw, or throws another error. Returns what it threw. */
export function assertThrows<E extends Error = Error>(
  fn: () => unknown,
  errorClass: Class<E>,
  msgIncludes?: string,
  msg?: string,
): E;
export function assertThrows(
  fn: () => unknown,
  errorClass?: Class<Error> | string,
  msgIncludes?: string,
  msg?: string,
): unknown {
  try {
    fn();
  } catch (error) {
    if (typeof errorClass === "function") assertIsError(error, errorClass, msgIncludes, msg);
    return error;
  }
  refuse("Expected function to throw", typeof errorClass === "string" ? errorClass : msg);
}

/** Fails where the promise does not reject, or rejects with another error. Resolves with what it rejected with. */
export function assertRejects(fn: () => PromiseLike<unknown>, msg?: string): Promise<unknown>;
/** Fails where the promise does not reject, or rejects with another error. Resolves with what it rejected with. */
export function assertRejects<E extends Error = Error>(
  fn: () => PromiseLike<unknown>,
  errorClass: Class<E>,
  msgIncludes?: string,
  msg?: string,
): Promise<E>;
export async function assertRejects(
  fn: () => PromiseLike<unknown>,
  errorClass?: Class<Error> | string,
  msgIncludes?: string,
  msg?: string,
): Promise<unknown> {
  let promise: PromiseLike<unknown> | undefined;
  try {
    promise = fn();
    if (typeof promise?.then !== "function") throw new Error("not a promise");
    await promise;
  } catch (error) {
    if (typeof promise?.then !== "function") {
      refuse("Function throws when expected to reject", typeof errorClass === "string" ? errorClass : msg);
    }
    if (typeof errorClass === "function") assertIsError(error, errorClass, msgIncludes, msg);
    return error;
  }
  refuse("Expected function to reject", typeof errorClass === "string" ? errorClass : msg);
}

/** Always fails. */
export function fail(msg?: string): never {
  refuse("Failed assertion", msg);
}

/** Always fails: this line is not to be reached. */
export function unreachable(msg?: string): never {
  refuse("Unreachable", msg);
}
