/**
 * What a notice is rendered with. Types only.
 *
 * @module
 */

/** What a notice says beside its reason. */
export interface RenderNoticeOptions {
  /** What the file does, where that much is known. */
  readonly prose?: string | undefined;
  /** Who wrote the prose. */
  readonly maker?: string | undefined;
  /** The read was shortened all the same, with a parser's map. Default: it ran exactly as asked. */
  readonly shortened?: boolean | undefined;
  /** What was done with the read. Default: it was not shortened, or with a parser's map. */
  readonly heading?: string | undefined;
}
