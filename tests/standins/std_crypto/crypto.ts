/**
 * Stand-in for `@std/crypto/crypto`: WebCrypto whose `subtle.digest` also takes iterables of chunks. Over `node:crypto`.
 *
 * @module
 */

import { createHash } from "node:crypto";

/** The digests the stand-in knows. */
export type DigestAlgorithmName = "SHA-1" | "SHA-256" | "SHA-384" | "SHA-512";
/** A digest by name. */
export type DigestAlgorithm = DigestAlgorithmName | { name: DigestAlgorithmName };

/** `SubtleCrypto` with a `digest` over chunks. */
export interface StdSubtleCrypto extends SubtleCrypto {
  /** The digest of a buffer or of a sequence of chunks. */
  digest(
    algorithm: DigestAlgorithm,
    data: BufferSource | AsyncIterable<BufferSource> | Iterable<BufferSource>,
  ): Promise<ArrayBuffer>;
  /** The digest of a buffer or of a sequence of chunks, at once. */
  digestSync(algorithm: DigestAlgorithm, data: BufferSource | Iterable<BufferSource>): ArrayBuffer;
}

/** `Crypto` with the wider `subtle`. */
export interface StdCrypto extends Crypto {
  /** The wider `SubtleCrypto`. */
  readonly subtle: StdSubtleCrypto;
}

function hasher(algorithm: DigestAlgorithm) {
  const name = typeof algorithm === "string" ? algorithm : algorithm.name;
  return createHash(name.replace("-", "").toLowerCase());
}

function bytes(data: BufferSource): Uint8Array {
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
}

function isBuffer(data: unknown): data is BufferSource {
  return data instanceof ArrayBuffer || ArrayBuffer.isView(data);
}

function finished(hash: ReturnType<typeof createHash>): ArrayBuffer {
  return new Uint8Array(hash.digest()).buffer;
}

const web = globalThis.crypto;

function bound<T extends object>(target: T): T {
  return new Proxy(target, {
    get(object, key) {
      const value: unknown = Reflect.get(object, key, object);
      return typeof value === "function" ? value.bind(object) : value;
    },
  });
}

const subtle = new Proxy(bound(web.subtle), {
  get(object, key) {
    if (key === "digest") return digest;
    if (key === "digestSync") return digestSync;
    return Reflect.get(object, key);
  },
}) as StdSubtleCrypto;

async function digest(
  algorithm: DigestAlgorithm,
  data: BufferSource | AsyncIterable<BufferSource> | Iterable<BufferSource>,
): Promise<ArrayBuffer> {
  const hash = hasher(algorithm);
  if (isBuffer(data)) hash.update(bytes(data));
  else for await (const chunk of data) hash.update(bytes(chunk));
  return finished(hash);
}

function digestSync(algorithm: DigestAlgorithm, data: BufferSource | Iterable<BufferSource>): ArrayBuffer {
  const hash = hasher(algorithm);
  for (const chunk of isBuffer(data) ? [data] : data) hash.update(bytes(chunk));
  return finished(hash);
}

/** WebCrypto whose `subtle.digest` also takes iterables of chunks. */
export const crypto: StdCrypto = new Proxy(bound(web), {
  get(object, key) {
    return key === "subtle" ? subtle : Reflect.get(object, key);
  },
}) as StdCrypto;
