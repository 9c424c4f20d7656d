/**
 * The part of one value that another names, for `assertObjectMatch`.
 *
 * @module
 */

/** `actual`, cut down to the keys that `expected` has, at every depth. */
export function pick(actual: unknown, expected: unknown): unknown {
  if (Array.isArray(actual) && Array.isArray(expected)) {
    return actual.slice(0, expected.length).map((item, at) => pick(item, expected[at]));
  }
  if (!isRecord(actual) || !isRecord(expected)) return actual;
  const found: Record<PropertyKey, unknown> = {};
  for (const key of Reflect.ownKeys(expected)) {
    if (key in actual) found[key] = pick(actual[key], expected[key]);
  }
  return found;
}

function isRecord(value: unknown): value is Record<PropertyKey, unknown> {
  return typeof value === "object" && value !== null &&
    !(value instanceof Date || value instanceof RegExp || value instanceof Map || value instanceof Set ||
      ArrayBuffer.isView(value));
}
