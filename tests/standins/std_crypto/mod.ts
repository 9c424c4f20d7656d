/**
 * Stand-in for `@std/crypto`.
 *
 * @module
 */

export { crypto } from "./crypto.ts";
export type { DigestAlgorithm, DigestAlgorithmName, StdCrypto, StdSubtleCrypto } from "./crypto.ts";
