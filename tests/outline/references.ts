/**
 * What others find in the files of the corpus: universal-ctags, the TypeScript compiler and Python's own parser, and for
 * languages none of them knows the words at the start of unindented lines.
 *
 * @module
 */

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { extensionOf } from "../../src/summary/outline_rules.ts";
import { type CorpusFile, corpusLists, loadCorpus } from "./corpus.ts";

/** A declaration as a reference has it. */
export interface Known {
  /** The last part of its name. */
  readonly name: string;
  /** The line of its name, 1-based. */
  readonly line: number;
  /** Its last line, where the reference tells. */
  readonly end?: number | undefined;
  /** Not inside a class, a function or the like; namespaces and packages do not count. */
  readonly top: boolean;
}

/** A reference: the declarations of a file, or `undefined` where it does not know the language. */
export interface Reference {
  readonly name: string;
  readonly version: string;
  find(file: CorpusFile): Known[] | undefined;
}

/** Kinds of universal-ctags that are declarations, by its name of the language. */
const CTAGS_KINDS: Readonly<Record<string, string>> = {
  C: "function struct union enum typedef",
  "C++": "function struct union enum typedef class",
  Go: "func type struct interface",
  Rust: "function struct enum interface typedef macro method",
  Java: "class interface enum method annotation",
  Kotlin: "class interface object method typealias",
  "C#": "class struct interface enum method",
  Ruby: "class module method singletonMethod",
  PHP: "class interface trait function",
  Sh: "function",
  Lua: "function",
  Elixir: "module function macro protocol implementation test guard delegate record callback",
};
/** Scopes that are no level of their own. */
const OPEN_SCOPES = new Set(["namespace", "package", "module", "implementation"]);

/** universal-ctags, where it is installed. */
export function ctags(): Reference | undefined {
  const version = spawnSync("ctags", ["--version"], { encoding: "utf8" });
  if (version.error || !version.stdout.startsWith("Universal Ctags")) return undefined;
  return {
    name: "universal-ctags",
    version: /^Universal Ctags ([\d.]+)/.exec(version.stdout)![1]!,
    find({ file, path, text }) {
      const forced = /^(?:sh|bash)$/.test(extensionOf(path, text)) ? ["--language-force=Sh"] : [];
      const options = ["--output-format=json", "--fields=+neKlZ", "--extras=-{anonymous}", ...forced, "-f", "-"];
      const run = spawnSync("ctags", [...options, file], {
        encoding: "utf8",
        maxBuffer: 1 << 26,
      });
      const lines = text.split("\n");
      let known = false;
      const found: Known[] = [];
      for (const line of run.stdout.split("\n").filter(Boolean)) {
        const tag = JSON.parse(line);
        const kinds = CTAGS_KINDS[tag.language];
        if (!kinds) continue;
        known = true;
        const name = String(tag.name).replace(/\/\d+$/, "").split(/::|\.|#/).at(-1)!;
        if (!kinds.split(" ").includes(tag.kind) || /^__anon|^<|^anon/.test(tag.name)) continue;
        if (isInvented(name, lines[tag.line - 1] ?? "", tag.language)) continue;
        const top = tag.scopeKind === undefined || OPEN_SCOPES.has(tag.scopeKind);
        found.push({ name, line: tag.line, end: tag.end, top });
      }
      return known ? found : undefined;
    },
  };
}

/** What ctags takes for a declaration and is none: see `outline_bench.ts` for how many. */
function isInvented(name: string, line: string, language: string): boolean {
  if (!line.includes(name)) return true; // not on its line
  if (language === "Sh") return name.endsWith("="); // an array
  if (language === "Lua") {
    return !new RegExp(
      `function\\s*[\\w.:]*\\b${name.replace(/\W/g, "\\$&")}\\s*\\(|\\b${name.replace(/\W/g, "\\$&")}\\s*=\\s*function`,
    ).test(line);
  }
  if (language === "Kotlin") return !/\b(?:class|interface|object|fun|typealias|constructor)\b/.test(line); // a lambda's parameter
  return false;
}

/** As much of the TypeScript compiler as is used. */
interface TypeScript {
  readonly version: string;
  readonly ScriptTarget: { readonly Latest: number };
  createSourceFile(name: string, text: string, target: number, parents: boolean): Tree;
  forEachChild(node: Tree, visit: (node: Tree) => void): void;
  readonly SyntaxKind: Readonly<Record<number, string>>;
}
interface Tree {
  readonly kind: number;
  readonly name?: Tree & { readonly text?: string };
  readonly initializer?: Tree;
  readonly parent: Tree;
  readonly modifiers?: readonly Tree[];
  readonly declarationList?: { readonly declarations: readonly Tree[] };
  getStart(): number;
  getEnd(): number;
  getText(): string;
  getLineAndCharacterOfPosition(at: number): { line: number };
}

const TS_DECLARED =
  /^(FunctionDeclaration|ClassDeclaration|InterfaceDeclaration|TypeAliasDeclaration|EnumDeclaration|MethodDeclaration|Constructor|GetAccessor|SetAccessor)$/;
const TS_FUNCTIONS = /^(ArrowFunction|FunctionExpression|ClassExpression)$/;

/** The TypeScript compiler from a package of the corpus. */
export function typescript(file: string | undefined): Reference | undefined {
  if (!file || !existsSync(file)) return undefined;
  const ts: TypeScript = createRequire(import.meta.url)(file);
  return {
    name: "the TypeScript compiler",
    version: ts.version,
    find({ path, text }) {
      if (!/\.[cm]?[jt]sx?$/.test(path)) return undefined;
      const tree = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
      const lineOf = (at: number) => tree.getLineAndCharacterOfPosition(at).line + 1;
      const found: Known[] = [];
      const add = (name: Tree, node: Tree, top: boolean) => {
        found.push({
          name: name.getText().replace(/^["']|["']$/g, ""),
          line: lineOf(name.getStart()),
          end: lineOf(node.getEnd()),
          top,
        });
      };
      const visit = (node: Tree, top: boolean): void => {
        const kind = ts.SyntaxKind[node.kind]!;
        if (TS_DECLARED.test(kind) && node.name) add(node.name, node, top);
        if (kind === "VariableStatement" && top) {
          const exported = node.modifiers?.some((modifier) => ts.SyntaxKind[modifier.kind] === "ExportKeyword");
          for (const variable of node.declarationList?.declarations ?? []) {
            const isFunction = variable.initializer && TS_FUNCTIONS.test(ts.SyntaxKind[variable.initializer.kind]!);
            if (variable.name?.text && (exported || isFunction)) add(variable.name, node, true);
          }
        }
        const opens = /^(SourceFile|ModuleDeclaration|ModuleBlock|ExportAssignment)$/.test(kind);
        ts.forEachChild(node, (child) => visit(child, top && opens));
      };
      visit(tree, true);
      return found;
    },
  };
}

const PYTHON = `
import ast, json, sys
found = []
def walk(node, top):
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.append({"name": child.name, "line": child.lineno, "end": child.end_lineno, "top": top})
            walk(child, False)
        else:
            walk(child, top)
walk(ast.parse(sys.stdin.read()), True)
print(json.dumps(found))
`;

/** Python's own parser, where Python is installed. */
export function python(): Reference | undefined {
  const version = spawnSync("python3", ["--version"], { encoding: "utf8" });
  if (version.error || version.status !== 0) return undefined;
  return {
    name: "Python's ast",
    version: version.stdout.trim().replace(/^Python /, ""),
    find({ path, text }) {
      if (!path.endsWith(".py")) return undefined;
      const run = spawnSync("python3", ["-c", PYTHON], { input: text, encoding: "utf8", maxBuffer: 1 << 26 });
      return run.status === 0 ? JSON.parse(run.stdout) : undefined;
    },
  };
}

const UNINDENTED: Readonly<Record<string, RegExp>> = {
  swift:
    /^(?:@\w+(?:\([^)]*\))? +)*(?:(?:public|internal|open|final|private|fileprivate|indirect|@objc) +)*(?:class|struct|enum|protocol|actor|func|typealias|extension) +([\w.]+)/,
  scala: /^(?:(?:private|sealed|abstract|final|case|implicit|package) +)*(?:class|object|trait|def|type) +(\w+)/,
};

/** The words at the start of lines that are not indented, for Swift and Scala, which the others do not know. */
export function unindented(): Reference {
  return {
    name: "unindented lines",
    version: "1",
    find({ path, text }) {
      const pattern = UNINDENTED[path.slice(path.lastIndexOf(".") + 1)];
      return pattern && text.split("\n").flatMap((line, row) => {
        const name = pattern.exec(line)?.[1]?.split(".").at(-1);
        return name ? [{ name, line: row + 1, top: true }] : [];
      });
    },
  };
}

/** Every reference that is there; those of one language first. */
export function references(): readonly Reference[] {
  const tools = loadCorpus(corpusLists().tools);
  const compiler = typeof tools === "string" ? undefined : typescript(tools[0]?.file);
  return [compiler, python(), ctags(), unindented()].filter((reference) => reference !== undefined);
}
