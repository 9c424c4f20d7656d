import { describe, it } from "node:test";
import { assertEquals } from "@std/assert";
import { isEditedByApi } from "../src/edited_by_api.ts";

describe("a request whose results the API takes out by itself", () => {
  const clear = { type: "clear_tool_uses_20250919" }, thinking = { type: "clear_thinking_20251015" };
  const edited: Record<string, unknown> = {
    "clears tool results": { context_management: { edits: [clear] } },
    "clears them among other things": { contextManagement: { edits: [thinking, clear] } },
    "is compacted": { context_management: { edits: [{ type: "compact_20260112" }] } },
    "is compacted, in a list": { contextManagement: [{ type: "compaction", compactThreshold: 9 }] },
    "says so in words of later versions": { contextManagement: { strategy: "trim" } },
    "is cut": { truncation: "auto" },
  };
  const whole: Record<string, unknown> = {
    "says nothing of it": { model: "m", messages: [] },
    "clears thinking alone": { context_management: { edits: [thinking] } },
    "has no edits": { context_management: { edits: [] }, truncation: null },
    "is never cut": { truncation: "disabled", contextManagement: null },
    "is none": undefined,
    "is text": "truncation",
  };
  for (const [what, request] of Object.entries(edited)) {
    it(`is one that ${what}`, () => assertEquals(isEditedByApi(request), true));
  }
  for (const [what, request] of Object.entries(whole)) {
    it(`is not one that ${what}`, () => assertEquals(isEditedByApi(request), false));
  }
});
