/**
 * What a user of the package gets, held still: the two configurations, the entries and their public names, the names that
 * Bun and Node resolve, and the words no tracked file may hold.
 *
 * @module
 */

import { describe, it } from "node:test";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "@std/path/posix/join";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { codeOnly, exists, exportedNames, readText, root } from "./modules.ts";

/**
 * The public names of every entry. A change here is a change of the public surface: say it in CHANGELOG. A failing test
 * prints the list as it is now, ready to be pasted.
 */
const publicNames: Readonly<Record<string, string>> = {
  ".": `
    Annotation AnnotationKind Audit Begun Clock Codec Completion CompletionMessage CompletionModel CompletionRequest
    Coverage Dialect DialectOptions FailureReason FileMap FileSource FileSummaries Given Halves HeadOnlyOptions INSTRUCTION_FILES
    LineSpan Lookup MapLimits Middleware Model NameRules Next Notice OffsetLimitOptions OutlineParser ReadCall
    ReadGuardOptions ReadOutcome ReadSpan Referred Region RegionKind RenderMapOptions RereadGuardOptions RereadRules
    SECRET_FILES Session SessionOptions SessionState SourceFile SplitOptions SqliteDatabase SqliteDriver
    SqliteStatement SqliteValue StartEndOptions SummarizeFileArguments SummarizeFileInfo SummarizeFileTool
    SummarizeOptions Summarizer SummarizerContext Summary ToolFunction ToolWatcher ToolWords UNGUARDED Usage ViewRangeOptions
    WatchedTool Waymark WaymarkError WaymarkErrorCode WaymarkErrorOptions WaymarkEvent WaymarkOptions WaymarkStats WrapOptions
    WrapToolsOptions Wrapped ZeroLine autoCodec compose createSession createWaymark dialects fieldsCodec headOnly
    isAnnotationText offsetLimit readGuard readGuideline renderMap rereadGuard split startEnd stripAnnotations
    viewRange wrap wrapTools
  `,
  "./adapters/ai": `
    AiInputSchema AiRequest AiRequests AiRequestsOptions AiStep AiSummarizeFile AiToolOptions AiToolsOptions AiUsage
    aiPrepareStep aiRequests aiSummarizeFile aiTool aiTools
  `,
  "./adapters/langchain": `
    DeepagentsBackend DeepagentsOptions LangchainHooks LangchainHost LangchainModelRequest LangchainOptions
    LangchainRules LangchainRun LangchainToolRequest LangchainWaymark ToolMessageClass backendSource
    deepagentsMiddleware langchainMiddleware
  `,
  "./adapters/anthropic": `
    AnthropicRequest AnthropicRequestOptions AnthropicRunner AnthropicSummarizeFile AnthropicTool
    AnthropicToolOptions anthropicSummarizeFile anthropicTool anthropicTools followRunner noteRequest
  `,
  "./adapters/claude": `
    ClaudeHook ClaudeHookEvent ClaudeHookInput ClaudeHookMatcher ClaudeHookOutput ClaudeHooks ClaudeHooksOptions
    ClaudeTool claudeHooks claudeSummarizeFile
  `,
  "./adapters/hooks": `
    DigestTaker HookWaymark HostOptions OpencodeField OpencodeHooks OpencodeMessage OpencodeOptions OpencodeSchema
    OpencodeTool PiApi PiBlock PiContext PiOptions PiRequest PiTool PiToolCall PiToolResult PiToolResultChange
    opencodeHooks piExtension
  `,
  "./adapters/mcp": `
    McpExtra McpFailure McpHints McpOptions McpSummarizeFile McpSummarizeFileOptions McpText McpWaymark
    RangeArguments mcpClient mcpFacts mcpHandler mcpRanges mcpServer mcpSummarizeFile
  `,
  "./cli": `
    CommandIo main
  `,
  "./compaction": `
    Bonds CachePrices CallMode CompactionEvent Compactor CompactorOptions CompactorStats Descent ForkRefusal
    GivenMessage GivenRequest HostMessage LadderRules LineItem MessageFacts MessageShape Notice PlacedSpan RequestSender SendOptions
    SentAnswer SentRequest SentUsage Span SpanRules StandaloneInput StandaloneRequest Summarizing SummarizingStats
    SummaryCall SummaryInput aiSdkShape anthropicShape bondsOf createCompactor createSummarizing descend estimateTokens
    isSummaryText openaiShape renderSummary selectSpan standaloneRequest
  `,
  "./conformance": `
    ConformanceHost HostCall HostSetup OpenHost ReadTool Shown TestFunction ToolBlock ToolResult conformance
    conformanceCases
  `,
  "./drivers/db-sqlite": `
    DbSqliteOptions dbSqlite isDbSqliteAtHand
  `,
  "./drivers/node-sqlite": `
    nodeSqlite
  `,
  "./hook": `
    HookIo main
  `,
  "./mcp": `
    CommandIo McpServerOptions McpServing McpTransport main serveMcp
  `,
  "./outline": `
    OutlineOptions outline
  `,
  "./providers/ai-sdk": `
    AiSdkCall AiSdkLanguageModel AiSdkOptions AiSdkResult aiSdk
  `,
  "./providers/anthropic": `
    AnthropicOptions DEFAULT_MODEL anthropic anthropicSender
  `,
  "./providers/custom": `
    CompletionModelOptions completionModel
  `,
  "./testing": `
    FakeClock MemoryFiles MissReason PromptCacheOptions PromptCacheSimulator Script ScriptedAnswer ScriptedModel
    ScriptedModelOptions SimulatedRequest SimulatedUsage fakeClock memoryFiles promptCache scriptedModel trueMap
  `,
  "./tool-use": `
    AcceptedResult CallFacts DigestEvent DigestOptions DigestRow DigestSums PLACEHOLDERS Pressure SkipReason Stubs
    Summaries ToolUseOptions ToolUseStats ToolUseSummary WatchOptions createStubs isFramedDigest isLocatorStub
    isPlaceholder loadSummaries renderDigest substituteSummaries toolUseSummary upgradePlaceholders
  `,
};

// deno-lint-ignore no-explicit-any -- configuration files as they are
function readConfig(file: string): any {
  return JSON.parse(readText(file));
}

const config = readConfig("deno.json");
const entries = Object.entries<string>(config.exports);
const published = entries.filter(([, file]) => exists(file));

describe("the configurations", () => {
  it("are equal but for the links and the lock", () => {
    const { links, lock, ...offline } = readConfig("deno.offline.json");
    assertEquals(offline, config);
    assertEquals(lock, false);
    assertEquals(links.length, 5);
    assertEquals(config.links, undefined);
  });

  it("link a stand-in of the right name and a fitting version for every JSR package", () => {
    const linked = readConfig("deno.offline.json").links.map((link: string) => {
      const { name, version } = readConfig(join(link, "deno.json"));
      return `${name} jsr:${name}@^${version}`;
    });
    const named = Object.entries<string>(config.imports).filter(([, to]) => to.startsWith("jsr:"));
    assertEquals(linked.sort(), named.map(([name, to]) => `${name} ${to}`).sort());
  });

  it("map every package to its own name, so that a packed copy finds it", () => {
    for (const [name, to] of Object.entries<string>(config.imports)) {
      assertMatch(to, /^(jsr|npm):@?[^@]+@[\^~]\d/, name);
      assertEquals(to.replace(/^(jsr|npm):/, "").replace(/(?<=.)@.*$/, ""), name);
    }
  });

  it("give Bun and Node the same names", () => {
    const expected: Record<string, string> = {};
    for (const folder of ["./", ...readConfig("deno.offline.json").links.map((link: string) => `${link}/`)]) {
      const { name, exports } = readConfig(join(folder, "deno.json"));
      for (const [subpath, file] of Object.entries(typeof exports === "string" ? { ".": exports } : exports)) {
        expected[join(name, subpath)] = `./${join(folder, String(file))}`;
      }
    }
    const { paths } = readConfig("tsconfig.json").compilerOptions;
    assertEquals(
      Object.fromEntries(Object.entries<string[]>(paths).map(([name, files]) => [name, files.join(" ")])),
      expected,
    );
  });
});

describe("the entries", () => {
  it("exist", () => {
    assertEquals(entries.filter(([, file]) => !exists(file)), []);
  });

  it("are named after their files", () => {
    for (const [subpath, file] of entries) {
      if (subpath !== ".") assertEquals(file.replace("./src/", "./").replace(".ts", "").replaceAll("_", "-"), subpath);
    }
  });

  it("begin with a module doc", () => {
    const without = published.filter(([, file]) =>
      !/^(#!.*\n)?\/\*\*[\s\S]*?@module\b[\s\S]*?\*\//.test(readText(file))
    );
    assertEquals(without, []);
  });

  for (const [subpath, file] of published) {
    it(`${subpath} exports the names it is known for`, () => {
      const names = exportedNames(file);
      const known = publicNames[subpath]?.split(/\s+/).filter(Boolean);
      const wrapped = names.join(" ").replace(/(.{1,112})(\s|$)/g, "    $1\n");
      assert(`${names}` === `${known}`, `the names of ${subpath} are now:\n  "${subpath}": \`\n${wrapped}  \`,`);
    });
  }

  it("are all in the frozen list, and only they", () => {
    assertEquals(Object.keys(publicNames).sort(), entries.map(([subpath]) => subpath).sort());
  });
});

describe("the tracked files", () => {
  let tracked: string[] = [];
  try {
    tracked = execFileSync("git", ["ls-files", "-z"], {
      cwd: root,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    })
      .split("\0").filter((file) => file !== "" && exists(file));
  } catch { /* not a checkout, or no git here: nothing to look at */ }

  it("name no machine and no registry host", { skip: tracked.length === 0 }, () => {
    // Written in halves, so that this file may be looked at too.
    const halves = [
      ["/wo", "rk/"],
      ["/tmp", "/r(t|eal)\\b"],
      ["registry\\.", "npmjs"],
      ["npm\\.", "jsr\\.io"],
      ["deb", "\\.debian"],
      ["\\bC", "EO\\b"],
      ["work", "place"],
      ["\\bhelper ", "engineer"],
      ["\\bT", "ODO:"],
    ];
    const forbidden = new RegExp(halves.map((pair) => pair.join("")).join("|"));
    const found = tracked.filter((file) => !file.startsWith("tests/testdata/")).flatMap((file) =>
      readFileSync(join(root, file), "utf8").split("\n").flatMap((line, at) =>
        forbidden.test(line) ? [`${file}:${at + 1}: ${line.trim().slice(0, 120)}`] : []
      )
    );
    assertEquals(found, []);
  });

  it("hold no lock file, no package.json but that of the hosts in tests, and no stray database", {
    skip: tracked.length === 0,
  }, () => {
    const stray =
      /(^|\/)(deno\.lock|package(-lock)?\.json|deno\.floor\.json|.*\.tgz|.*\.db(-wal|-shm)?)$|^\.summaries\//;
    const allowed = (file: string) => file.startsWith("tests/testdata/") || file === "tests/hosts/package.json";
    assertEquals(tracked.filter((file) => stray.test(file) && !allowed(file)), []);
  });

  it("never import a test from the source", () => {
    const wrong = tracked.filter((file) =>
      /^(mod|src\/.*)\.ts$/.test(file) && /["'].*\/tests\//.test(codeOnly(readText(file)))
    );
    assertEquals(wrong, []);
  });
});
