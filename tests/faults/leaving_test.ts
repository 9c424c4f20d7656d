import { describe, it } from "node:test";
import { readFileSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { assertEquals } from "@std/assert";
import { databaseOf } from "../cache/opening.ts";
import { runProgram, runtimes } from "./processes.ts";
import { message, type Reply, startMessagesApi } from "../messages_api.ts";
import { code, inFolder, put } from "../support.ts";
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

describe("a process that closes while maps are made", () => {
  for (const runtime of runtimes) {
    it(`ends at once on ${runtime.name}, its reads served, its requests broken off and the way free for others`, async () => {
      await inFolder(async (root) => {
        const path = put(root, "long.ts", code(300));
        let asked = 0;
        const replies = (): Reply => (++asked === 2 && put(root, "asked", ""), { kind: "hang" });
        const api = await startMessagesApi({ replies });
        try {
          const job: Job = { url: api.url, key: api.key, root };
          const why = `Cannot summarize ${path}: it was closed meanwhile`;
          assertEquals(await runProgram(runtime, "tests/faults/closing_child.ts", job), [
            `Reason: ${why}.`,
            null, // what could not be looked at is read as it was asked for
            `aborted: ${why}`,
          ]);
          assertEquals(await Promise.all(api.requests.map(({ cutShort }) => cutShort)), [true, true]);
          const database = new DatabaseSync(databaseOf(root));
          assertEquals(database.prepare("select count(*) as count from leases").get()?.["count"], 0);
          database.close();
        } finally {
          await api.close();
        }
      });
    });
  }
});

describe("a process that is done, and closes nothing", () => {
  for (const runtime of runtimes) {
    it(`ends on ${runtime.name}, however far the deadlines of what it waited for`, async () => {
      await inFolder(async (root) => {
        put(root, "long.ts", code(300));
        const map = JSON.stringify({
          prose: "Adds small numbers.",
          regions: [{ start: 1, end: 300, kind: "function", name: "f1", note: "and its like" }],
        });
        const api = await startMessagesApi({ replies: [message(map), message("A summary.")] });
        try {
          const job: Job = { url: api.url, key: api.key, root };
          const got = await runProgram(runtime, "tests/faults/done_child.ts", job); // killed, and a failure, if it stays
          assertEquals(got, { mapped: true, digests: 1, compacted: [true, true] });
        } finally {
          await api.close();
        }
      });
    });
  }
});

describe("a process in which only a read goes on", () => {
  for (const runtime of runtimes) {
    it(`stays on ${runtime.name} until the read is served, though its model never answers`, async () => {
      await inFolder(async (root) => {
        put(root, "long.ts", code(300));
        const line = await runProgram(runtime, "tests/faults/hung_child.ts", { root });
        assertEquals(line, `Reason: Cannot summarize ${root}/long.ts: no answer within 1 s.`);
      });
    });
  }
});
