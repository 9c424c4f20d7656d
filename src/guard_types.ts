/**
 * What the guards take, and what they work with. Types only.
 *
 * @module
 */

import type { Conversation } from "./conversation.ts";
import type { WaymarkEvent } from "./events.ts";
import type { LoadedFile, Maps } from "./map_types.ts";
import type { Project, Snapshot } from "./project_types.ts";
import type { Given, LineSpan, Session } from "./session_types.ts";
import type { FileSource, NameRules, ReadCall, RenderMapOptions, Summarizer } from "./types.ts";

/** Options of `readGuard`. */
export interface ReadGuardOptions extends NameRules {
  /** Makes the maps. Default: the built-in line scanner. */
  readonly summarizer?: Summarizer | undefined;
  /** Where bytes come from, for tools that read somewhere else. Default: this machine's disk. */
  readonly source?: FileSource | undefined;
  /** Lines a read may return before it is shortened to as many. Default 200. */
  readonly maxLines?: number | undefined;
  /** The conversation, in which each map is given once. Default: that of each call; without one every map is given whole. */
  readonly session?: Session | undefined;
  /** Told everything that happens. */
  readonly onEvent?: ((event: WaymarkEvent) => void) | undefined;
}

/** What a guard works with. */
export interface GuardParts {
  /** Finds and reads files. */
  readonly project: Pick<Project, "locate" | "window" | "read" | "identify" | "snapshot" | "share">;
  /** Gets and makes maps. */
  readonly maps: Pick<Maps, "get">;
  /** Makes the map where `maps` fails, so that the read is shortened all the same. Absent: it runs as asked. */
  readonly fallback?: Pick<Maps, "get"> | undefined;
  /** Lines a read may return before it is shortened to as many. Default 200. */
  readonly maxLines?: number | undefined;
  /** Which names are guarded, beyond the built-in lists. */
  readonly names?: NameRules | undefined;
  /** The conversation of a call. Default: none. */
  readonly conversationOf?: ((call: ReadCall) => Conversation | undefined) | undefined;
  /** Told of every cap and failure. */
  readonly onEvent?: ((event: WaymarkEvent) => void) | undefined;
}

/** A read that would return too many lines. */
export interface Shortened {
  /** The file; absent where its map was given before. */
  readonly file: LoadedFile | undefined;
  /** Its real path. */
  readonly real: string;
  /** Where it was given, in a conversation. */
  readonly given?: Given | undefined;
  /** The file as it was read in a conversation. */
  readonly read?: Snapshot;
  /** Bytes of the file. */
  readonly size: number;
  /** The bytes of the lines to show. */
  readonly window: () => Uint8Array;
  /** Bytes that follow them: so many lines at least, where there are as many. */
  readonly rest: (lines: number) => Uint8Array;
}

/** What is said beside a shortened read: a map, or where it was given. */
export interface Told {
  readonly kind: "map" | "reference";
  readonly lines: number;
  readonly maker?: string;
  /** Nothing was waited for since the file was read. */
  readonly isNow: boolean;
  readonly render: (options: RenderMapOptions) => string;
  /** Called when it is said; how to take that back. */
  readonly note?: (text: string, asked: Asked | undefined) => (() => void) | undefined;
}

/** What the re-read guard does beside referring back. */
export interface RereadRules {
  /**
   * What a read gets whose lines were shown and have changed since: the lines, or, where that is less than 40 % of them, what
   * changed. Default `"full"`.
   */
  readonly onChange?: "full" | "diff" | undefined;
  /** Globs of files that are always shown again. Default `INSTRUCTION_FILES`: to read them again is the point. */
  readonly exempt?: readonly string[] | undefined;
}

/** Options of `rereadGuard`. */
export interface RereadGuardOptions extends RereadRules {
  /** The conversation. Default: that of each call; a call without one goes on as asked. */
  readonly session?: Session | undefined;
  /** Where bytes come from, for tools that read somewhere else. Default: this machine's disk. */
  readonly source?: FileSource | undefined;
  /** Told everything that happens. */
  readonly onEvent?: ((event: WaymarkEvent) => void) | undefined;
}

/** What a re-read guard works with. */
export interface RereadParts extends RereadRules {
  /** Finds and reads files. */
  readonly project: Pick<Project, "snapshot">;
  /** The conversation of a call. */
  readonly conversationOf: (call: ReadCall) => Conversation | undefined;
  /** Told of every reference. */
  readonly onEvent?: ((event: WaymarkEvent) => void) | undefined;
}

/** The lines a read asks for, as the file has them now. */
export interface Wanted extends LineSpan {
  readonly file: string;
  readonly hash: string;
  readonly text: () => string;
  /** How many lines the file has. */
  readonly total: () => number;
}

/** A call that the read guard shortened, which the conversation knows by what was asked for. */
export interface ShortenedCall extends ReadCall {
  readonly shortened?: {
    readonly whole: ReadCall;
    /** Set by the conversation once the read goes to the tool, or is answered. */
    asked?: Asked;
  };
}

/** A read on its way, as the conversation knows it. */
export interface Asked {
  /** Nothing is recorded: of equal reads in one parallel batch the host may keep any result. */
  isVoid: boolean;
  running: number;
  /** Takes back what was recorded of it. */
  takeBack?: (() => void) | undefined;
}

/** What a reference says. */
export interface ReferenceFacts extends LineSpan {
  readonly path: string;
  /** How many lines the file has. */
  readonly lines: number;
  /** The turns in which they were shown, where turns are counted. */
  readonly turns: readonly number[];
  /** Nobody says what leaves. */
  readonly isGuess: boolean;
  /** The name they were shown under, where it is another. */
  readonly shownAs: string | undefined;
}

/** A range of a file at one hash. */
export interface Version extends LineSpan {
  readonly file: string;
  readonly hash: string;
}
