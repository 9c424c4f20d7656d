/**
 * Genkit: a read tool that is guarded, and the middleware by which Waymark sees the requests that are sent.
 * The session is that of one conversation: each conversation, and each sub-agent, has guards of its own.
 */

import type { Session, Waymark } from "@waymark/waymark";
import { generateMiddleware } from "genkit";

/** For `ai.defineTool({ name: "read_file", … }, guard.read(run))`, and `ai.generate({ use: [guard.requests()] })`. */
export function guardReads(waymark: Waymark, session: Session) {
  // deno-lint-ignore no-explicit-any -- the host's own types of input and output
  const read = <Run extends (input: any, info: any) => Promise<any>>(run: Run) => waymark.wrap(run, { session });
  const requests = generateMiddleware({ name: "waymark" }, () => ({
    model: (request, info, next) => (session.nextTurn(), session.reconcile(request.messages), next(request, info)),
  }));
  return { read, requests };
}
