/**
 * The code in files that are mostly something else: Vue, Svelte, HTML and Astro. Pure.
 *
 * @module
 */

/** Extensions whose code stands in `<script>` blocks. */
const WITH_SCRIPTS: ReadonlySet<string> = new Set(["vue", "svelte", "html", "htm", "astro"]);

/** Whether the code of such a file stands in blocks. */
export function hasScripts(extension: string): boolean {
  return WITH_SCRIPTS.has(extension);
}

/**
 * The text with everything outside `<script>` blocks (and Astro's front matter) made blank: the same length, the same line
 * breaks, so that every place in it is the place in the file.
 */
export function scriptsOnly(text: string, extension: string): string {
  let kept = "", at = 0;
  const keep = (from: number, to: number): void => {
    kept += blank(text.slice(at, from)) + text.slice(from, to);
    at = to;
  };
  const matter = extension === "astro" ? /^\uFEFF?\s*---\r?\n/.exec(text) : null;
  if (matter) {
    const end = text.indexOf("\n---", matter[0].length - 1);
    if (end >= 0) keep(matter[0].length, end + 1);
  }
  const opener = /<script\b[^<>]*>/gi;
  opener.lastIndex = at;
  for (let open = opener.exec(text); open; open = opener.exec(text)) {
    const from = open.index + open[0].length, end = text.slice(from).search(/<\/script/i);
    if (end < 0) break;
    keep(from, from + end);
    opener.lastIndex = at;
  }
  return kept + blank(text.slice(at));
}

function blank(text: string): string {
  return text.replace(/[^\n]/g, " ");
}
