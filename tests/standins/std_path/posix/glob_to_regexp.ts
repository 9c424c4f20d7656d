/**
 * Stand-in for `@std/path/posix/glob-to-regexp`: `*`, `**`, `?`, `[…]`, `{a,b}` and backslash escapes. No extended globs.
 *
 * @module
 */

/** How a glob is read. */
export interface GlobOptions {
  /** Extended syntax such as `+(a|b)`. The stand-in has none. */
  extended?: boolean;
  /** Whether `**` spans folders. Default: true. */
  globstar?: boolean;
  /** Whether case is ignored. Default: false. */
  caseInsensitive?: boolean;
}

/** A regular expression that matches whole paths. */
export function globToRegExp(glob: string, options: GlobOptions = {}): RegExp {
  if (glob === "") return /(?!)/;
  const flags = options.caseInsensitive ? "i" : "";
  let source = "";
  let depth = 0;
  const path = glob.length > 1 ? glob.replace(/\/+$/, "") : glob;
  for (let at = 0; at < path.length; at++) {
    const char = path.charAt(at);
    if (char === "\\" && at + 1 < path.length) source += escape(path.charAt(++at));
    else if (char === "/") {
      while (path.charAt(at + 1) === "/") at++;
      source += "/+";
    } else if (char === "*") {
      const from = at;
      while (path.charAt(at + 1) === "*") at++;
      const alone = (from === 0 || path.charAt(from - 1) === "/") &&
        (at + 1 === path.length || path.charAt(at + 1) === "/");
      if (options.globstar !== false && at - from === 1 && alone) {
        source += "(?:[^/]*(?:/|$)+)*";
        while (path.charAt(at + 1) === "/") at++;
      } else source += "[^/]*";
    } else if (char === "?") source += ".";
    else if (char === "{") {
      depth++;
      source += "(?:";
    } else if (char === "}" && depth > 0) {
      depth--;
      source += ")";
    } else if (char === "," && depth > 0) source += "|";
    else if (char === "[" && path.indexOf("]", at + 2) > 0) {
      const end = path.indexOf("]", at + 2);
      const inside = path.slice(at + 1, end).replace(/\\/g, "\\\\");
      source += `[${inside.startsWith("!") ? `^${inside.slice(1)}` : inside}]`;
      at = end;
    } else source += escape(char);
  }
  return depth > 0 ? new RegExp(`^${escape(path)}/*$`, flags) : new RegExp(`^${source}/*$`, flags);
}

function escape(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
