/**
 * Stand-in for `@std/streams/text-line-stream`.
 *
 * @module
 */

/** How lines are told apart. */
export interface TextLineStreamOptions {
  /** Whether a lone `\r` ends a line. Default: false. */
  allowCR?: boolean;
}

/** Text in, lines out, without their endings; a final newline makes no empty line. */
export class TextLineStream extends TransformStream<string, string> {
  /** Makes a stream of lines. */
  constructor(options: TextLineStreamOptions = {}) {
    let rest = "";
    super({
      transform(chunk, controller) {
        rest += chunk;
        // A trailing `\r` may be the first half of `\r\n`: keep it for the next chunk.
        const held = rest.endsWith("\r") ? "\r" : "";
        const lines = (held ? rest.slice(0, -1) : rest).split(options.allowCR ? /\r\n|\n|\r/ : /\r\n|\n/);
        rest = (lines.pop() ?? "") + held;
        for (const line of lines) controller.enqueue(line);
      },
      flush(controller) {
        if (rest === "") return;
        controller.enqueue(options.allowCR && rest.endsWith("\r") ? rest.slice(0, -1) : rest);
      },
    });
  }
}
