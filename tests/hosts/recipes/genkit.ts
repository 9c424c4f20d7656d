/** Genkit: a middleware that guards a read tool and sees the requests that are sent. */
// deno-lint-ignore-file no-explicit-any -- what goes between the hook and the tool is the host's own

import type { Session, Waymark } from "@waymark/waymark";
import { type GenerateMiddleware, generateMiddleware } from "genkit";

/** For `ai.generate({ tools: [readFile, …], use: [guardReads(waymark, session, "read_file")()] })`. */
export function guardReads({ wrap }: Waymark, session: Session, name: string): GenerateMiddleware {
  const read = wrap(async (input: any, { run }: any) => (await run(input))?.toolResponse.output, { name, session });
  return generateMiddleware({ name: "waymark" }, () => ({
    model: (request, info, next) => (session.nextTurn(), session.reconcile(request.messages), next(request, info)),
    async tool({ toolRequest: { input, ...call }, ...part }, info, next) {
      const tool = { callId: call.ref, run: (input: any) => next({ ...part, toolRequest: { ...call, input } }, info) };
      return call.name !== name ? tool.run(input) : { toolResponse: { ...call, output: await read(input, tool) } };
    },
  }));
}
