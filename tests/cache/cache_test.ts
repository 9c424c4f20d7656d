import { openCache } from "../../src/cache/cache.ts";
import { testSummaryCache } from "../contracts/cache.ts";
import { inFolder } from "../support.ts";

const drivers = "Deno" in globalThis ? ["node:sqlite", "@db/sqlite"] as const : ["node:sqlite"] as const;

for (const sqlite of drivers) {
  testSummaryCache(`on disk with ${sqlite}`, (action) =>
    inFolder(async (root) => {
      const cache = await openCache({ root, sqlite });
      if (cache.driver !== sqlite) throw new Error(`opened ${cache.kind} with ${cache.driver}`);
      try {
        await action(cache);
      } finally {
        cache.close();
      }
    }));
}
