// deno-lint-ignore-file no-explicit-any -- stands for a runtime whose types are not at hand
/**
 * Stands for Deno's own types where the sources are checked by plain TypeScript, beside the hosts' types. What is Deno's is checked
 * by Deno.
 *
 * @module
 */

declare const Deno: any;
declare namespace Deno {
  type FileInfo = any;
  type PermissionDescriptor = any;
}
