/**
 * One project for each folder, with its own maps.
 *
 * Promised: what is mapped, kept or sent to a model is what was read of a file that was open and lay in the folder: nothing
 * here opens a path but through that check.
 *
 * @module
 */

import { type McpExtra, mcpHandler } from "../adapters/mcp.ts";
import type { Waymark } from "../options.ts";
import { outline } from "../outline.ts";
import { isSecretPath } from "../probe.ts";
import { sessionPool } from "../session_pool.ts";
import type { FileSource } from "../types.ts";
import { createWaymark } from "../waymark.ts";
import type { Folder, Inside } from "./folders.ts";
import { sourceIn } from "./open_file.ts";
import type { McpServerOptions } from "./options.ts";
import { readFile, readFileCodec, readFileDialect, type ReadResult } from "./read_file.ts";

/** The arguments of a call. */
export type Args = Readonly<Record<string, unknown>>;

/** What a read comes with. */
export interface ReadExtra extends McpExtra {
  /** The folders of this moment. */
  readonly folders: readonly Folder[];
  /** The file, as the model names it. */
  readonly named: string;
}

/** The project of a folder. */
export interface Project {
  /** Its maps. */
  readonly waymark: Waymark;
  /** The bytes that they are made of. */
  readonly source: FileSource;
  /** Reads a file, guarded. Its path is {@linkcode mapName}'s. */
  readonly read: (args: Args, extra: ReadExtra) => Promise<ReadResult>;
}

/** The projects of a server. */
export interface Projects {
  /** The project of a folder. Those of folders that may no longer be read are closed. */
  of(folder: Folder, folders: readonly Folder[]): Project;
  /** Closes them all. */
  close(): Promise<void>;
}

/** Larger files are not mapped, in bytes. */
const MAX_BYTES = 32 << 20;

/** Makes the projects, each when it is first asked for. */
export function createProjects(
  { model, maxLines, references = false }: McpServerOptions,
  tell: (problem: unknown) => void,
): Projects {
  const pool = sessionPool({ untracked: true }), made = new Map<string, Project & { readonly cwd: string }>();
  const parser = outline();
  let isClosed = false;
  return {
    of(folder, folders) {
      for (const [real, { waymark }] of made) {
        if (!folders.some((other) => other.real === real)) made.delete(real), void waymark.close();
      }
      const cwd = folders[0]!.real, known = made.get(folder.real);
      if (known?.cwd === cwd) return known;
      const source = known?.source ?? sourceIn(folder, { maxBytes: MAX_BYTES });
      const waymark = known?.waymark ?? createWaymark({
        root: folder.real,
        roots: [folder.real],
        source,
        maxFileBytes: MAX_BYTES,
        model,
        outline: parser,
        maxLines,
        cache: !isClosed,
        rereadGuard: references,
        onNotice: tell,
      });
      const read = mcpHandler(
        (args: Args, { folders, named, signal }: ReadExtra) => readFile(args, { folders, named, signal }),
        waymark,
        {
          names: ["read_file"],
          dialect: readFileDialect,
          codec: readFileCodec,
          session: (id) => pool.get(id ?? ""),
          cwd,
        },
      );
      const project = { waymark, source, read, cwd };
      made.set(folder.real, project);
      return project;
    },
    async close() {
      isClosed = true;
      await Promise.all([...made.values()].map(({ waymark }) => waymark.close()));
    },
  };
}

/**
 * The name under which maps know a file: where a link or dots lead to it, its real path, so that it has one map by whatever
 * name. A name that itself says that the file holds secrets stays: it is refused by it.
 */
export function mapName(path: string, { absolute, real }: Inside): string {
  return absolute === real || isSecretPath(absolute) ? path : real;
}
