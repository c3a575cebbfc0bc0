import type { Readable, Writable } from 'node:stream';
import type { z } from 'zod';
import type { Tx } from '../../lib/postgres/db.ts';
import type { Role } from '../tenancy/types.ts';
import type { OwnDoor } from './own-door.ts';

/** A file on its way into a house, and how its arrival is recorded in the transaction that takes it in. */
export interface IncomingFile<Target> {
  target: Target;
  tenantId: string;
  userId: string;
  fileName: string;
  content: Readable;
  /** `uploadIds`: all uploads of an archive, of which `uploadId` is the first. */
  record(tx: Tx, made: { jobId: string; uploadId: string | null; uploadIds?: string[] }): Promise<void>;
}

/** The way into a house for files that do not come with a request. */
export interface FileDoor<Target> {
  maxBytes: number;
  /** Throws what would keep every file out: an unknown processor, a workspace that is gone, an ingest that is off. */
  check(tenantId: string, target: Target): Promise<void>;
  takeIn(file: IncomingFile<Target>): Promise<void>;
}

/** What becomes of a file of rows. Without a processor it is the usual one for what the file turns out to be. */
export interface RowsTarget {
  processor: string | null;
  options: Record<string, unknown>;
}

/** Where a report belongs. */
export interface ReportTarget {
  platform: string;
  workspaceId: string;
  clientId?: string | null;
  /** How it comes; by an adapter unless it says otherwise. */
  origin?: 'adapter' | 'pull';
  /** The days that were asked for, for a report that names none itself. */
  range?: { from: string; to: string } | null;
}

/** A file as its place lists it; `version` changes with the content. */
export interface PlacedFile {
  path: string;
  sizeBytes: number;
  version: string;
}

/** An open S3 prefix or FTP directory, for readers that leave the files where they are. */
export interface OpenFilePlace {
  /** Files appear only when they are complete, so there is no need to wait. */
  readonly isAtomic: boolean;
  /** Yields the files that the place's pattern wants, in batches and in no order. */
  list(): AsyncIterable<PlacedFile[]>;
  /** Returns null when the file does not exist. */
  find(path: string): Promise<PlacedFile | null>;
  /** Reads the whole file, or throws. */
  read(file: PlacedFile, into: Writable): Promise<void>;
  close(): Promise<void>;
}

/** An S3 prefix or FTP directory, as its form writes it. */
export type FilePlace = { kind: 's3' | 'ftp' } & Record<string, unknown>;

/** How requests describe such places. */
export interface FilePlaceForms {
  s3: z.ZodObject<{ kind: z.ZodLiteral<'s3'> }>;
  ftp: z.ZodObject<{ kind: z.ZodLiteral<'ftp'> }>;
}

/** The way to files in places that adapters know. */
export interface FilePlaceDoor {
  readonly forms: FilePlaceForms;
  /** Throws for an address or a secret that may not be used. */
  check(user: { tenantId: string; role: Role }, place: FilePlace): Promise<void>;
  open(tenantId: string, place: FilePlace): Promise<OpenFilePlace>;
}

/** What a page or an entry of a feed says, as text. */
export type PageText =
  | { kind: 'text'; title: string; text: string; mediaType: string }
  | { kind: 'empty'; title: string; reason: string }
  | { kind: 'error'; title: string; code: string; message: string };

/** Of pages that can be read as text. Others, such as images, are skipped without being loaded. */
export const pageTypes: ReadonlySet<string> = new Set([
  'text/html',
  'application/xhtml+xml',
  'text/plain',
  'text/markdown',
  'text/x-markdown',
  'application/pdf',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
]);

/** The way into knowledge bases for scraped references. */
export interface ReferenceDoor {
  /** Returns when the knowledge base was created, and it takes references from now on; null when there is none. */
  admit(tx: Tx, key: { tenantId: string; kbId: string }): Promise<Date | null>;
  /** Returns null when there is no such base. What was handed over earlier went into one that has been deleted. */
  madeAt(tx: Tx, key: { tenantId: string; kbId: string }): Promise<Date | null>;
  readPage(
    page: { bytes: Uint8Array; name: string; mediaType: string | null; isHtml: boolean },
    signal: AbortSignal,
  ): Promise<PageText>;
}

/** A scraped reference, as a knowledge base sees it. */
export interface Reference {
  referenceId: string;
  url: string;
  title: string;
  content: string;
  /** Of the content; Markdown when it is not given. */
  mediaType?: string | null;
}

/** The way back: a knowledge base reads the references that were handed over to it. */
export interface ReferenceReader {
  /** Lists them by id, after `after`; or only the one that is named. */
  listReferences(page: {
    tenantId: string;
    kbId: string;
    referenceId: string | null;
    after: string | null;
    limit: number;
  }): Promise<Reference[]>;
}

/** Lookups in a tenant's catalogues, for the processor that matches rows. */
export interface CatalogDoor {
  readonly options: z.ZodType<LookupOptions>;
  /** Opens the version that is in use now. Throws when there is no such catalogue. */
  open(tenantId: string, name: string): Promise<OpenCatalog>;
  /** Throws for strategies that the database cannot serve. */
  assertStrategies(tenantId: string, used: readonly string[]): Promise<void>;
}

/** The other options are for the lookup. */
export interface LookupOptions {
  catalog: string;
  strategies: readonly string[];
}

type Row = Readonly<Record<string, unknown>>;

export interface OpenCatalog {
  name: string;
  version: number;
  /** What a strategy finds for each row, in order. */
  lookUp(
    rows: readonly { input: Row; normalized: Row }[],
    how: { strategy: string; options: LookupOptions },
  ): Promise<LookupMatch[]>;
}

export type LookupMatch =
  | { found: true; score: number; product: Record<string, unknown> }
  | { found: false; reason: string; candidates: readonly object[] };

/** Every way from one house into another. Houses never import each other; they meet here. */
export interface HouseDoors {
  rows: FileDoor<RowsTarget>;
  catalogs: CatalogDoor;
  reports: FileDoor<ReportTarget>;
  filePlaces: FilePlaceDoor;
  referenceIntake: ReferenceDoor;
  references: ReferenceReader;
  own: OwnDoor;
}

/** Filled while the houses open and used only later, so that their order does not matter. */
export class Doors {
  readonly #open: Partial<HouseDoors> = {};

  offer<Name extends keyof HouseDoors>(name: Name, door: HouseDoors[Name]): void {
    this.#open[name] = door;
  }

  /** Throws when no house has offered this door: the installation is wired wrongly. */
  get<Name extends keyof HouseDoors>(name: Name): HouseDoors[Name] {
    const door = this.#open[name];
    if (door === undefined) throw new Error(`No house has opened the door "${name}"`);
    return door;
  }

  /** The same for a house that may open before the one behind the door: each use looks for it. */
  later<Name extends keyof HouseDoors>(name: Name): HouseDoors[Name] {
    return new Proxy({} as HouseDoors[Name], { get: (_, member) => Reflect.get(this.get(name), member) });
  }
}
