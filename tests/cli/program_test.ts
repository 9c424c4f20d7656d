import { describe, it } from "node:test";
import { Command, InvalidArgumentError } from "commander";
import { assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { isProgram, runCommand, toComplaint, toWhole, VERSION } from "../../src/cli/program.ts";
import { readText } from "../modules.ts";

/** Runs a command with one of its own below: how it ended, and what was said where. */
async function run(argv: readonly string[], action: (given: object) => void = () => {}) {
  let stdout = "", stderr = "";
  const command = new Command("tests").version("1.2.3").option("--count <number>", "a number", toWhole);
  command.command("go").requiredOption("--to <place>", "where").action(action);
  const ended = await runCommand(command, argv, {
    write: (output) => void (stdout += output),
    complain: (line) => void (stderr += `${line}\n`),
  });
  return { ended, stdout, stderr, options: command.opts() };
}

describe("runCommand()", () => {
  it("goes on where there is more to do, with the options as they are meant", async () => {
    const gone: unknown[] = [];
    const { options, ...rest } = await run(["--count", "7", "go", "--to", "there"], ({ to }: { to?: unknown }) => {
      gone.push(to);
    });
    assertEquals(rest, { ended: undefined, stdout: "", stderr: "" });
    assertEquals([options, gone], [{ count: 7 }, ["there"]]);
  });

  it("is the end where help or the release is asked for, of a command below too, on standard output", async () => {
    assertEquals({ ...await run(["--version"]), options: 0 }, { ended: 0, stdout: "1.2.3\n", stderr: "", options: 0 });
    for (const argv of [["--help"], ["go", "--help"]]) {
      const { ended, stdout, stderr } = await run(argv);
      assertEquals([ended, stderr], [0, ""]);
      assertMatch(stdout, /^Usage: tests /);
    }
  });

  it("is the end where something is not understood, of a command below too, on standard error", async () => {
    for (const argv of [["--no-such"], ["--count", "none"], ["go"], ["go", "--no-such"], ["nowhere"]]) {
      const { ended, stdout, stderr } = await run(argv);
      assertEquals([ended, stdout], [2, ""], argv.join(" "));
      assertMatch(stderr, /^error: [^]+\n$/);
    }
  });

  it("lets through what an action throws", async () => {
    const error = new Error("no way");
    const thrown = await assertRejects(() =>
      run(["go", "--to", "there"], () => {
        throw error;
      })
    );
    assertEquals(thrown, error);
  });
});

describe("toWhole()", () => {
  it("takes whole numbers from 1, and nothing else", () => {
    assertEquals(["1", "007", "9".repeat(400)].map(toWhole), [1, 7, Number.MAX_SAFE_INTEGER]);
    for (const odd of ["", "0", "-1", "1.5", "1e3", "0x1", " 1", "none"]) {
      assertThrows(() => toWhole(odd), InvalidArgumentError, "It is not a whole number from 1");
    }
  });
});

describe("toComplaint()", () => {
  it("is one line of whatever it is", () => {
    assertEquals(toComplaint(new Error("one\n  two\r\n")), "waymark: one two");
    assertEquals(toComplaint(new Error("Cannot read a\u001b[2J\u2028b: \u009b1m")), "waymark: Cannot read a [2J b: 1m");
    assertEquals([toComplaint("a"), toComplaint(undefined), toComplaint(7)], [
      "waymark: a",
      "waymark: undefined",
      "waymark: 7",
    ]);
  });
});

describe("isProgram()", () => {
  it("is what the runtime says, and without its word whether the file is the script that was started", () => {
    assertEquals([isProgram({ main: true }), isProgram({ main: false, filename: "x" })], [true, false]);
    assertEquals([isProgram({ filename: "/no/such/file.ts" }), isProgram({ filename: "" })], [false, false]);
  });
});

describe("the release", () => {
  it("is that of deno.json", () => {
    assertEquals(VERSION, JSON.parse(readText("deno.json")).version);
  });
});
