/** A program in which something fails that nobody waits for: `throw` or `reject`. It would go on for a minute. */

import { exitOnFault, programArguments } from "../../src/hook/process.ts";

exitOnFault();
setTimeout(() => {}, 60_000);
const [how] = programArguments();
if (how === "reject") void Promise.reject(new Error("a fault"));
else {setTimeout(() => {
    throw new Error("a fault");
  }, 10);}
