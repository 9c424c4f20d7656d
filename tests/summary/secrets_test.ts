import { assert, assertEquals, assertRejects } from "@std/assert";
import { describe, it } from "node:test";
import { WaymarkError } from "../../src/errors.ts";
import { createMasker, MASK, maskSecrets, secrets } from "../../src/summary/secrets.ts";

/** Made-up values in the shapes of real keys, put together here so that no scanner takes this file for a leak. */
export const FAKES: Readonly<Record<string, string>> = {
  "an AWS access key id": "AKIA" + "QWERTYUIOPASDFGH",
  "an AWS secret in an assignment": "aws_secret_access_key = " + "abcdEFGH12".repeat(4),
  "a GitHub token": "ghp_" + "a1B2c3".repeat(6),
  "an Anthropic key": "sk-ant-api03-" + "Ab-1_".repeat(18) + "xAA",
  "a Slack token": "xoxb-" + "123456789012-abcdefABCDEF",
  "a Stripe key": "sk_live_" + "a1b2c3d4".repeat(4),
  "an npm token": "npm_" + "a1B2c3".repeat(6),
  "a password in a URL": "https://bob:" + "hunter2hunter@db.example.org",
  "a connection string": "postgres://app:" + "s3cretpw9@db.internal/main",
  "a private key": "-----BEGIN RSA PRIVATE" + " KEY-----\n" + "MIIEowIBAAKC".repeat(12) + "\n-----END RSA PRIVATE" +
    " KEY-----",
};

describe("masking", () => {
  for (const [what, value] of Object.entries(FAKES)) {
    it(`hides ${what} and nothing around it`, async () => {
      const masked = await maskSecrets(`It logs in with ${value} and goes on`);
      assert(masked.startsWith("It logs in with "), masked);
      assert(masked.endsWith(" and goes on"), masked);
      assert(masked.includes(MASK));
      for (let at = 0; at + 12 <= value.length; at++) {
        assert(!masked.includes(value.slice(at, at + 12)), masked);
      }
    });
  }

  it("hides a private key that was made one line", async () => {
    assertEquals(await maskSecrets(FAKES["a private key"]!.replaceAll("\n", " ")), MASK);
  });

  it("leaves plain text alone", async () => {
    const text =
      "Reads the key from the environment (API_KEY, sk-…), then signs: sha256(token + secret), id 1234-5678.";
    assertEquals(await maskSecrets(text), text);
    assertEquals(await maskSecrets(""), "");
  });

  it("hides every one of several, neighbours too", async () => {
    const token = FAKES["a GitHub token"]!;
    assertEquals(await maskSecrets(`${token} ${token},${token}`), `${MASK} ${MASK},${MASK}`);
  });

  it("hides a text that is nothing but a secret", async () => {
    assertEquals(await maskSecrets(FAKES["a Stripe key"]!), MASK);
  });

  it("cannot be switched off by a comment in the text", async () => {
    const token = FAKES["a GitHub token"]!;
    const masked = await maskSecrets(`// secretlint-disable\n${token} // secretlint-disable-line`);
    assert(!masked.includes(token));
  });

  it("finds a secret that what shows nothing splits, controls among it, and takes that away with it", async () => {
    const unseen = [
      "\u0001",
      "\b",
      "\u007f",
      "\u0080",
      "\u0085",
      "\u009f",
      "\u200b",
      "\u034f",
      "\u{e0041}",
      "\0\u200d\u0085",
    ];
    for (const [what, value] of Object.entries(FAKES)) {
      for (const gap of unseen) {
        for (const at of [2, 11, value.length - 1]) {
          const masked = await maskSecrets(`It is ${value.slice(0, at)}${gap}${value.slice(at)} \u0001 now`);
          const shown = masked.replace(/[\p{Cc}\p{Cf}\p{DI}]/gu, "");
          assertEquals(shown, `It is ${MASK}  now`, `${what} ${JSON.stringify(gap)} at ${at}`);
        }
        const { length } = value;
        if (value.includes(" ") || length > 80) continue;
        assertEquals(await maskSecrets(`It is ${[...value].join(gap)} now`), `It is ${MASK} now`, what);
      }
    }
  });

  it("finds a secret that what shows nothing divides from the words beside it", async () => {
    const token = FAKES["a GitHub token"]!, key = FAKES["an AWS access key id"]!;
    for (const gap of ["\0", "\u0001", "\u001f", "\u0085", "\u200b", "\u2060"]) {
      assertEquals(
        await maskSecrets(`A=1${gap}${token}${gap}B=${key}${gap}C=`),
        `A=1${gap}${MASK}${gap}B=${MASK}${gap}C=`,
      );
      const other = /\p{Cc}/u.test(gap) ? "\u200b" : "\u0001", split = key.slice(0, 9) + other + key.slice(9);
      assertEquals(await maskSecrets(`one${gap}${split}${gap}two`), `one${gap}${MASK}${gap}two`);
    }
  });

  it("finds a secret right behind an escape, which ends in a letter and is none: of data, program text, addresses", async () => {
    const token = FAKES["a GitHub token"]!, key = FAKES["an AWS access key id"]!;
    const escapes = [
      "\\n",
      "\\r\\n",
      "\\t",
      "\\\\n",
      "\\u000a",
      "\\x1b[1;31m",
      "\\u001b[m",
      "\\033[0m",
      "\\e[2m",
      "[1;31m",
      "^[[0m",
      "%0A",
      "%3D",
      "%3a",
    ];
    for (const escape of escapes) {
      for (const secret of [token, key, `\u200b${key}`]) {
        const masked = await maskSecrets(`first line${escape}${secret}${escape}last line`);
        assertEquals(masked.replace("\u200b", ""), `first line${escape}${MASK}${escape}last line`);
      }
    }
    const path = String.raw`C:\temp\new 100%ab \u0041BC`;
    assertEquals(await maskSecrets(path), path);
  });

  it("leaves alone what shows nothing where there is no secret", async () => {
    const text = "a\0b\u200bc 👨‍👩‍👧 می‌خواهم \u0085\n";
    assertEquals(await maskSecrets(text), text);
  });

  it("is done: a masked text stays as it is", async () => {
    const once = await maskSecrets(Object.values(FAKES).join(" ; "));
    assertEquals(await maskSecrets(once), once);
  });
});

describe("masking several texts at once", () => {
  it("keeps each in its place", async () => {
    const token = FAKES["a GitHub token"]!;
    assertEquals(
      await secrets.mask(["before", `a ${token}`, "", token, "after", `${token} b`]),
      ["before", `a ${MASK}`, "", MASK, "after", `${MASK} b`],
    );
    assertEquals(await secrets.mask([]), []);
  });

  it("hides the part in each of a secret that spans two", async () => {
    const [head, body, tail] = FAKES["a private key"]!.split("\n") as [string, string, string];
    assertEquals(await secrets.mask(["x", head, body, tail, "y"]), ["x", MASK, MASK, MASK, "y"]);
  });

  it("takes in stride as many as a map can have", async () => {
    const texts = Array.from({ length: 801 }, (_, index) => `used by part ${index} `.repeat(10));
    assertEquals(await secrets.mask(texts), texts);
  });
});

describe("patterns that cannot be loaded", () => {
  it("mean a rejection, never an unmasked text, and are tried again the next time", async () => {
    let tries = 0;
    const masker = createMasker(() =>
      ++tries < 3
        ? Promise.reject(new Error("no such package"))
        : import("@secretlint/secretlint-rule-preset-recommend")
    );
    for (const attempt of [() => masker.load(), () => masker.mask(["text"])]) {
      const error = await assertRejects(
        attempt,
        WaymarkError,
        "Cannot mask secrets: the patterns could not be loaded (no such package)",
      );
      assertEquals(error.code, "internal");
    }
    assertEquals(await masker.mask(["text"]), ["text"]);
    assertEquals(tries, 3);
  });

  it("are not loaded before the first use, and then once", async () => {
    let loads = 0;
    const masker = createMasker(() => Promise.resolve({ rules: [], loads: ++loads }));
    assertEquals(loads, 0);
    await Promise.all([masker.load(), masker.load(), masker.mask(["a"])]);
    assertEquals(loads, 1);
  });

  it("include a module of another shape", async () => {
    await assertRejects(() => createMasker(() => Promise.resolve({})).mask(["a"]), WaymarkError, "Cannot mask secrets");
  });
});
