/** Names that are guarded and names that are not, secrets, and bytes that are no text. */

import { describe, it } from "node:test";
import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { WaymarkError } from "../src/errors.ts";
import {
  checkNames,
  guardsName,
  INSTRUCTION_FILES,
  isExempt,
  isSecretPath,
  looksBinary,
  SECRET_FILES,
  UNGUARDED,
} from "../src/probe.ts";

const guarded = (names: string, rules?: Parameters<typeof guardsName>[1]) =>
  names.split(" ").filter((name) => guardsName(name, rules));

describe("a name", () => {
  it("of source, configuration or markup is guarded", () => {
    const names =
      "a.ts a.tsx a.js a.py a.rs a.go a.java a.c a.h a.cpp a.cs a.rb a.php a.swift a.kt a.sh a.sql a.css a.scss a.html a.vue a.json " +
      "a.yaml a.yml a.toml a.xml a.proto a.tf a.lua a.ex a.zig a.unknown A.TS src/a.ts /p/src/a.ts C:\\p\\a.ts ./a.d.ts tsconfig.json";
    assertEquals(guarded(names), names.split(" "));
  });

  it("of prose, data or generated files is not", () => {
    const names =
      "README.md a.mdx a.markdown a.rst a.adoc a.txt a.org a.tex a.csv a.tsv a.log a.jsonl a.ipynb a.svg a.js.map yarn.lock Cargo.lock " +
      "package-lock.json pnpm-lock.yaml npm-shrinkwrap.json go.sum app.min.js app.min.css A.MD src/Package-Lock.json C:\\p\\app.min.js";
    assertEquals(guarded(names), []);
  });

  it("of a binary is not", () => {
    assertEquals(guarded("a.png a.PDF a.zip a.so a.wasm a.ttf a.sqlite a.mp4 a.docx a.class"), []);
  });

  it("without an extension is not, a dotfile is only with a second one", () => {
    assertEquals(guarded("Makefile LICENSE src/bin .bashrc .gitignore . .. a. src/.env"), []);
    assertEquals(guarded(".eslintrc.json src/.prettierrc.yaml"), [".eslintrc.json", "src/.prettierrc.yaml"]);
  });

  it("with a dot in its folder alone has no extension", () => {
    assertEquals(guarded("src.d/Makefile a.b\\c"), []);
  });

  it("is every one in the lists not guarded, as the lists say", () => {
    const { prose, data, generated, binary, lockFiles } = UNGUARDED;
    for (const extension of [...prose, ...data, ...generated, ...binary]) {
      assert(!guardsName(`dir/name.${extension}`), extension);
    }
    for (const name of lockFiles) assert(!guardsName(`dir/${name}`), name);
  });
});

describe("globs", () => {
  it("take names out, and put names in that the lists leave out", () => {
    assertEquals(guarded("a.gen.ts src/b.gen.ts c.ts", { exclude: ["*.gen.ts"] }), ["c.ts"]);
    assertEquals(guarded("README.md docs/a.md Makefile b.txt", { include: ["*.md", "Makefile"] }), [
      "README.md",
      "docs/a.md",
      "Makefile",
    ]);
    assertEquals(guarded("docs/a.md docs/b.md", { include: ["*.md"], exclude: ["b.md"] }), ["docs/a.md"]);
  });

  it("match the end of a path at a folder's edge, or the whole of it with a leading slash", () => {
    const excluded = (glob: string, paths: string) =>
      paths.split(" ").filter((path) => !guardsName(path, { exclude: [glob] }));
    assertEquals(excluded("src/api/**", "/p/src/api/a.ts src/api/x/b.ts mysrc/api/c.ts src/apis/d.ts"), [
      "/p/src/api/a.ts",
      "src/api/x/b.ts",
    ]);
    assertEquals(excluded("/p/*.ts", "/p/a.ts /q/p/a.ts /p/x/a.ts"), ["/p/a.ts"]);
    assertEquals(excluded("./src/*.ts", "src/a.ts /p/src/a.ts ./src/a.ts src/x/a.ts"), [
      "src/a.ts",
      "/p/src/a.ts",
      "./src/a.ts",
    ]);
    assertEquals(excluded("**/gen/*.ts", "gen/a.ts x/y/gen/a.ts gen/x/a.ts"), ["gen/a.ts", "x/y/gen/a.ts"]);
    assertEquals(excluded("src/*.ts", "src\\a.ts src\\x\\a.ts"), ["src\\a.ts"]);
  });

  it("know a question mark, sets and alternatives, and take all else literally", () => {
    const excluded = (glob: string, paths: string) =>
      paths.split(" ").filter((path) => !guardsName(path, { exclude: [glob] }));
    assertEquals(excluded("a?.ts", "ab.ts a.ts abc.ts"), ["ab.ts"]);
    assertEquals(excluded("[ab].ts", "a.ts b.ts c.ts"), ["a.ts", "b.ts"]);
    assertEquals(excluded("[!ab].ts", "a.ts c.ts"), ["c.ts"]);
    assertEquals(excluded("*.{gen,{spec,test}}.ts", "a.gen.ts a.spec.ts a.test.ts a.ts"), [
      "a.gen.ts",
      "a.spec.ts",
      "a.test.ts",
    ]);
    assertEquals(excluded("a+(b)$.ts", "a+(b)$.ts aab.ts"), ["a+(b)$.ts"]);
    assertEquals(excluded("*.ts", "a.ts a.tsx a.axts"), ["a.ts"]);
  });

  it("that are broken match nothing they should not, and never throw", () => {
    fc.assert(fc.property(fc.string(), fc.string(), (glob, path) => {
      guardsName(path, { exclude: [glob] });
      guardsName(path, { include: [`{${glob}`] });
    }));
  });

  it("without wildcards match their own name", () => {
    fc.assert(fc.property(fc.string({ minLength: 1 }).filter((name) => !/[*?[\]{}/\\]/.test(name)), (name) => {
      assert(!guardsName(`dir/${name}`, { exclude: [name] }));
      assert(guardsName(`${name}.ts`, { exclude: [name] }) === guardsName(`${name}.ts`));
    }));
  });
});

describe("a secret", () => {
  it("is known by its name, wherever it lies and however it is written", () => {
    const names =
      ".env .env.local .ENV.production .envrc prod.env id_rsa id_ed25519.pub creds.pem server.KEY key.p12 cert.pfx store.jks debug.keystore " +
      "vault.kdbx login.ppk .netrc _netrc .npmrc .pypirc .pgpass .htpasswd .git-credentials credentials credentials.json secrets.json secrets.yaml " +
      "client_secret_123.json service-account.json my-credentials.json kubeconfig /home/u/.ssh/config /home/u/.aws/credentials .kube/config " +
      ".docker/config.json C:\\Users\\u\\.ssh\\known_hosts sub/dir/.env";
    assertEquals(names.split(" ").filter((name) => !isSecretPath(name)), []);
  });

  it("is not every file that has to do with one", () => {
    const names =
      "environment.ts env.ts src/secrets.ts src/credentials.py keyboard.ts config.prod.ts package.json tokens.css src/ssh/config.ts " +
      "monkey.ts id.rsa.ts config keys.ts .environ/a.ts";
    assertEquals(names.split(" ").filter(isSecretPath), []);
  });

  it("is listed in one exported constant", () => {
    for (const glob of [".env*", "*.pem", ".netrc", ".npmrc", "*.jks"]) assert(SECRET_FILES.includes(glob), glob);
  });
});

describe("bytes", () => {
  const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

  it("with a NUL near their beginning are no text, with one further on they may be", () => {
    const at = (index: number): Uint8Array => new Uint8Array(9000).fill(97).with(index, 0);
    assertEquals([looksBinary(at(0)), looksBinary(at(7999)), looksBinary(at(8000))], [true, true, false]);
  });

  it("in UTF-16 are no text, with a mark or without, even where no byte is NUL", () => {
    const code = Array.from({ length: 300 }, (_, index) => `Write-Host ${index}`).join("\r\n");
    const little = new Uint8Array(new Uint16Array([...code].map((char) => char.charCodeAt(0))).buffer);
    const big = little.map((_, index) => little[index ^ 1]!);
    assertEquals([looksBinary(little), looksBinary(big)], [true, true]);
    assertEquals(looksBinary(new Uint8Array([0xff, 0xfe, 0x2d, 0x4e])), true);
    assertEquals(looksBinary(new Uint8Array([0xfe, 0xff, 0x4e, 0x2d])), true);
  });

  it("in UTF-8 are text wherever a character is cut, as their ASCII twin is", () => {
    for (const edge of [512, 1000, 1024, 4096, 8000, 8192]) {
      for (let shift = 0; shift < 3; shift++) {
        const text = "a".repeat(edge - 2 - shift) + "漢".repeat(2000);
        assertEquals(looksBinary(encode(text)), false);
      }
    }
  });

  it("with a UTF-8 mark, in Latin-1, with control characters, or none at all, are text", () => {
    assertEquals(looksBinary(encode("\ufeffconst a = 1;")), false);
    assertEquals(looksBinary(new Uint8Array([0x63, 0xe9, 0x0a])), false);
    assertEquals(looksBinary(encode("a\fb\x1b[0m\x7f")), false);
    assertEquals(
      [looksBinary(new Uint8Array()), looksBinary(new Uint8Array([0xff])), looksBinary(new Uint8Array([0]))],
      [false, false, true],
    );
  });
});

describe("a file that instructs an agent", () => {
  it("is known by its name in any case, wherever it lies", () => {
    const names =
      "AGENTS.md agents.md docs/Agents.MD CLAUDE.md CLAUDE.local.md GEMINI.md skills/pdf/SKILL.md .cursorrules .windsurfrules .clinerules " +
      ".goosehints .github/copilot-instructions.md src/api.instructions.md .cursor/rules/a/b.mdc .clinerules/x.md .windsurf/rules/y.md " +
      "C:\\\\project\\\\AGENTS.md /p/.GitHub/Instructions/z.txt";
    assertEquals(names.split(" ").filter((name) => !isExempt(name, INSTRUCTION_FILES)), []);
  });

  it("is not every file with such a word in its name", () => {
    const names =
      "agents.ts claude.md.ts src/agents/main.ts skill.txt README.md my-agents.md cursor/rules/a.md instructions.md";
    assertEquals(names.split(" ").filter((name) => isExempt(name, INSTRUCTION_FILES)), []);
  });

  it("is listed in one exported constant, in small letters, so that capitals are meant too", () => {
    assertEquals(INSTRUCTION_FILES.filter((glob) => glob !== glob.toLowerCase()), []);
  });

  it("may be named by a host, small letters for capitals too, and capitals for themselves", () => {
    assertEquals(["Rules.txt", "RULES.TXT", "a/rules.txt"].map((name) => isExempt(name, ["rules.txt"])), [
      true,
      true,
      true,
    ]);
    assertEquals(["Rules.txt", "rules.txt"].map((name) => isExempt(name, ["Rules.txt"])), [true, false]);
    assert(!isExempt("AGENTS.md", []));
  });
});

describe("globs that are none", () => {
  it("are refused by name, in every list", () => {
    for (const list of ["include", "exclude", "exempt"] as const) {
      checkNames({ [list]: ["*.ts", "a[bc].ts"] });
      const error = assertThrows(() => checkNames({ [list]: ["*.ts", "a[z-a].ts"] }), WaymarkError);
      assertEquals([error.code, error.message.startsWith("Cannot use the globs *.ts,a[z-a].ts: ")], [
        "invalid-option",
        true,
      ]);
      const { message } = assertThrows(() => checkNames({ [list]: "*.ts" }), WaymarkError);
      assertEquals(message, "Cannot use the globs *.ts: give a list");
    }
  });
});
