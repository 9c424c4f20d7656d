import { describe, it } from "node:test";
import { readFileSync, writeFileSync } from "node:fs";
import { assertEquals } from "@std/assert";
import { runProgram, runtimes } from "./processes.ts";
import { type Reply, startMessagesApi } from "../messages_api.ts";
import { inFolder } from "../support.ts";
import type { Job } from "./leaving_child.ts";

describe("a process that closes while a digest is under way", () => {
  for (const runtime of runtimes) {
    it(`ends at once on ${runtime.name}, with the rows that were made and none of what was not`, async () => {
      await inFolder(async (root) => {
        const replies = (): Reply => (writeFileSync(`${root}/asked`, ""), { kind: "hang" });
        const api = await startMessagesApi({ replies });
        try {
          const job: Job = { url: api.url, key: api.key, root };
          assertEquals(await runProgram(runtime, "tests/faults/leaving_child.ts", job), { rows: 0, underWay: 0 });
          const ledger = readFileSync(`${root}/.summaries/tool-use/leaving.jsonl`, "utf8").trimEnd().split("\n");
          assertEquals(ledger.map((line) => JSON.parse(line).callId), ["c2"]);
          assertEquals([api.requests.length, await api.requests[0]?.cutShort], [1, true]);
        } finally {
          await api.close();
        }
      });
    });
  }
});
