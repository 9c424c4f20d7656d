/**
 * The random code of delimiters around text that nobody vouches for.
 *
 * @module
 */

/** A code that does not occur in the text, for its delimiters. */
export function freshToken(text: string): string {
  for (;;) {
    const token = crypto.randomUUID().replaceAll("-", "").slice(0, 16);
    if (!text.includes(token)) return token;
  }
}
