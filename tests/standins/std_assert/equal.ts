/**
 * Deep equality as `@std/assert` has it: same prototype (a null one counts as plain), same own keys, `NaN` equals `NaN`,
 * `0` equals `-0`.
 *
 * @module
 */

type Pairs = Map<object, object>;

/** Whether two values are deeply equal. */
export function equal(left: unknown, right: unknown): boolean {
  return compare(left, right, new Map());
}

function same(left: unknown, right: unknown): boolean {
  return left === right || Object.is(left, right);
}

function plain(value: object): object | null {
  const prototype: object | null = Object.getPrototypeOf(value);
  return prototype === null ? Object.prototype : prototype;
}

function compare(left: unknown, right: unknown, seen: Pairs): boolean {
  if (same(left, right)) return true;
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) return false;
  if (plain(left) !== plain(right)) return false;
  if (left instanceof Date) return Object.is(left.getTime(), (right as Date).getTime());
  if (left instanceof RegExp || left instanceof URL || left instanceof URLSearchParams) {
    return String(left) === String(right);
  }
  if (left instanceof ArrayBuffer) return compare(new Uint8Array(left), new Uint8Array(right as ArrayBuffer), seen);
  if (ArrayBuffer.isView(left)) return compareItems(left as Uint8Array, right as Uint8Array);
  if (seen.get(left) === right) return true;
  seen.set(left, right);
  if (left instanceof Set) return compareSets(left, right as Set<unknown>, seen);
  if (left instanceof Map) return compareMaps(left, right as Map<unknown, unknown>, seen);
  if (Array.isArray(left) && left.length !== (right as unknown[]).length) return false;
  if (Object.keys(left).length !== Object.keys(right).length) return false;
  const keys = new Set([...keysOf(left), ...keysOf(right)]);
  for (const key of keys) {
    if ((key in left) !== (key in right)) return false;
    if (!compare(Reflect.get(left, key), Reflect.get(right, key), seen)) return false;
  }
  return true;
}

function keysOf(value: object): PropertyKey[] {
  const keys = Reflect.ownKeys(value);
  const isPlain = plain(value) === Object.prototype || Array.isArray(value);
  return isPlain ? keys.filter((key) => Object.prototype.propertyIsEnumerable.call(value, key)) : keys;
}

function compareItems(left: ArrayLike<unknown>, right: ArrayLike<unknown>): boolean {
  if (left.length !== right.length) return false;
  for (let at = 0; at < left.length; at++) if (!same(left[at], right[at])) return false;
  return true;
}

function compareSets(left: Set<unknown>, right: Set<unknown>, seen: Pairs): boolean {
  if (left.size !== right.size) return false;
  const rest = [...right];
  return [...left].every((value) => {
    const at = rest.findIndex((other) => compare(value, other, new Map(seen)));
    if (at >= 0) rest.splice(at, 1);
    return at >= 0;
  });
}

function compareMaps(left: Map<unknown, unknown>, right: Map<unknown, unknown>, seen: Pairs): boolean {
  if (left.size !== right.size) return false;
  const rest = [...right];
  return [...left].every(([key, value]) => {
    const at = rest.findIndex(([otherKey, other]) =>
      compare(key, otherKey, new Map(seen)) && compare(value, other, new Map(seen))
    );
    if (at >= 0) rest.splice(at, 1);
    return at >= 0;
  });
}
