/**
 * What calls and listings tell of a server's tools.
 *
 * @module
 */

import { attempting } from "../../errors.ts";
import type { ReadToolWatch } from "../../read_tools.ts";

/** The very same result; once it is there, it is looked at. */
export function behind<Result>(result: Result, look: (given: unknown) => void): Result {
  if (result instanceof Promise) result.then(look).catch(() => {});
  else attempting()(() => look(result));
  return result;
}

/** Learns of tools from the pages of a listing, as a client is given them: with the last one all are known. */
export function readListing(watch: ReadToolWatch): (asked: unknown, page: unknown) => void {
  let isWhole = false; // one was seen from its first page
  return (asked, page) => {
    const { tools, nextCursor } = Object(page) as { tools?: unknown; nextCursor?: unknown };
    isWhole ||= (asked as { cursor?: unknown } | undefined)?.cursor === undefined;
    if (!Array.isArray(tools) || !tools.length) return;
    for (const tool of tools) watch.meet(tool?.name);
    if (isWhole && nextCursor === undefined) watch.close();
  };
}
