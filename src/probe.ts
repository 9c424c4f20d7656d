/**
 * Which files are guarded, by name alone, which hold secrets, and which are no text.
 *
 * The lists are exported constants, so that what a host relies on can be read and quoted. Pure.
 *
 * @module
 */

import { WaymarkError } from "./errors.ts";
import type { NameRules } from "./types.ts";

/** What the read guard leaves alone by its name; everything else that is text is guarded. All lower case. */
export const UNGUARDED: {
  /** Extensions of prose and notes. */
  readonly prose: readonly string[];
  /** Extensions of data. */
  readonly data: readonly string[];
  /** Extensions of generated files. */
  readonly generated: readonly string[];
  /** Extensions of files that are no text. */
  readonly binary: readonly string[];
  /** Names of lock files with an extension that is guarded otherwise. */
  readonly lockFiles: readonly string[];
  /** Globs of other names. */
  readonly patterns: readonly string[];
} = {
  prose: words("md mdx markdown rst adoc txt org tex"),
  data: words("csv tsv log jsonl ipynb"),
  generated: words("svg map lock"),
  binary: words(
    "png jpg jpeg gif webp bmp ico icns tif tiff avif heic heif psd pdf zip gz tgz bz2 xz zst 7z rar tar jar war whl class pyc " +
      "pyo o a so dll dylib exe bin dat wasm node lib mp3 mp4 m4a mov avi mkv webm ogg opus wav flac ttf otf woff woff2 eot " +
      "sqlite sqlite3 db doc docx xls xlsx ppt pptx odt ods odp parquet avro npy npz pkl pt onnx safetensors h5 dmg iso img deb rpm apk",
  ),
  lockFiles: words(
    "package-lock.json npm-shrinkwrap.json pnpm-lock.yaml packages.lock.json go.sum gradle.lockfile package.resolved .terraform.lock.hcl",
  ),
  patterns: ["*.min.*"],
};

/** Globs of files that hold secrets: never sent to a model, never summarized, never kept. Case does not count. */
export const SECRET_FILES: readonly string[] = words(
  ".env* *.env *.pem *.key *.ppk *.p12 *.pfx *.pkcs12 *.jks *.keystore *.bks *.kdbx id_{rsa,dsa,ecdsa,ed25519}* " +
    ".netrc _netrc .npmrc .pypirc .pgpass .my.cnf .htpasswd .git-credentials .dockercfg .vault-token .boto .s3cfg kubeconfig " +
    "credentials {credentials,secrets}.{json,yaml,yml,toml,ini,xml,properties} *credentials.json client_secret*.json service{-,_}account*.json " +
    ".ssh/** .aws/** .gnupg/** .kube/config .docker/config.json gcloud/*.json gcloud/*.db gh/hosts.yml",
);

/** Globs of files that instruct an agent: to read them again is how it comes back to them. Case does not count. */
export const INSTRUCTION_FILES: readonly string[] = words(
  "agents.md agents.local.md claude.md claude.local.md gemini.md skill.md .cursorrules .windsurfrules .clinerules .goosehints " +
    "copilot-instructions.md *.instructions.md .cursor/rules/** .clinerules/** .windsurf/rules/** .github/instructions/**",
);

function words(text: string): readonly string[] {
  return text.split(" ");
}

/**
 * Whether a file of this name is guarded. Looks at nothing but the name.
 *
 * Globs know `*`, `**`, `?`, `[…]` and `{…,…}`, and match the end of a path: `*.gen.ts` in any folder, `src/api/**` under
 * any `src/api`; one that begins with `/` matches a whole path.
 */
export function guardsName(path: string, { include = [], exclude = [] }: NameRules = {}): boolean {
  if (matches(path, exclude)) return false;
  if (matches(path, include)) return true;
  const name = path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1).toLowerCase(),
    dot = name.lastIndexOf(".");
  if (dot <= 0 || dot === name.length - 1) return false;
  const { prose, data, generated, binary, lockFiles, patterns } = UNGUARDED;
  unguarded ??= new Set([...prose, ...data, ...generated, ...binary]);
  return !unguarded.has(name.slice(dot + 1)) && !lockFiles.includes(name) && !matches(name, patterns);
}

/** The extensions of {@linkcode UNGUARDED}. */
let unguarded: ReadonlySet<string> | undefined;

/** Refuses globs that are none: they would quietly leave every file alone. Throws a {@linkcode WaymarkError}. */
export function checkNames(
  { include = [], exclude = [], exempt = [] }: NameRules & { readonly exempt?: readonly string[] | undefined },
): void {
  for (const globs of [include, exclude, exempt]) {
    try {
      if (!Array.isArray(globs)) throw new Error("give a list");
      matches("", globs);
    } catch (cause) {
      throw new WaymarkError("invalid-option", `Cannot use the globs ${globs}: ${(cause as Error).message}`, { cause });
    }
  }
}

/** Whether a path is that of a file with secrets, by {@linkcode SECRET_FILES}. */
export function isSecretPath(path: string): boolean {
  const name = path.toLowerCase();
  return (hints ??= hintsOf(SECRET_FILES)).some((hint) => name.includes(hint)) && matches(name, SECRET_FILES);
}

let hints: readonly string[] | undefined;

/** Every path that a glob matches has one of these words: a cheap look is enough for most. */
function hintsOf(globs: readonly string[]): readonly string[] {
  return globs.flatMap((glob) => /^\W*\{([^}]*)\}/.exec(glob)?.[1]?.split(",") ?? /\w+/.exec(glob) ?? "");
}

/** How much of a file is looked at. */
const HEAD = 8_000;

/** Whether bytes are no text: a NUL among the first 8,000, or a UTF-16 byte order mark. Nothing is decoded. */
export function looksBinary(bytes: Uint8Array): boolean {
  const mark = bytes.length > 1 ? bytes[0]! << 8 | bytes[1]! : 0;
  return mark === 0xfffe || mark === 0xfeff || bytes.subarray(0, HEAD).includes(0);
}

const compiled = new WeakMap<readonly string[], RegExp>();

/** Whether a file is shown again however often it is asked for. Small letters in a glob stand for capitals too. */
export function isExempt(path: string, globs: readonly string[]): boolean {
  return matches(path, globs) || matches(path.toLowerCase(), globs);
}

/** Whether any glob matches a path. */
export function matches(path: string, globs: readonly string[]): boolean {
  if (!globs.length) return false;
  let pattern = compiled.get(globs);
  if (!pattern) compiled.set(globs, pattern = compile(globs));
  return pattern.test(path.replaceAll("\\", "/"));
}

/** One expression for a list of globs. */
function compile(globs: readonly string[]): RegExp {
  const anywhere: string[] = [], anchored: string[] = [];
  for (const glob of globs) (glob.startsWith("/") ? anchored : anywhere).push(translate(glob.replace(/^(\.\/)+/, "")));
  return new RegExp(`(?:^|/)(?:${anywhere.join("|") || "(?!)"})$|^(?:${anchored.join("|") || "(?!)"})$`, "s");
}

function translate(glob: string): string {
  let depth = 0;
  const body = glob.replace(/\*\*\/|\*\*|\[!?[^\]]+\]|[^\w/-]/g, (token) => {
    if (token === "**/") return "(?:.*/)?";
    if (token === "**") return ".*";
    if (token === "*") return "[^/]*";
    if (token === "?") return "[^/]";
    if (token.length > 1) return token.replaceAll("\\", "\\\\").replace(/^\[!/, "[^");
    if (token === "{") return depth++, "(?:";
    if (token === "}" && depth) return depth--, ")";
    if (token === "," && depth) return "|";
    return token.replace(/[\\^$.*+?()[\]{}|]/, "\\$&");
  });
  return body + ")".repeat(depth);
}
