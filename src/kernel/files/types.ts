import type { Readable } from 'node:stream';

/** Where the bytes of stored files live. Rows that name them are in the table `files`. */
export interface Files {
  readonly backend: FilesBackend;
  /** Reads the stream to its end and makes the bytes durable; on any failure nothing is left behind. */
  store(content: Readable, options: { maxBytes: number }): Promise<StoredContent>;
  /** `start` and `end` are byte positions, both included. */
  open(storageKey: string, range?: { start?: number; end?: number }): Promise<Readable>;
  /** Removing what does not exist is not an error: a sweep may have removed it. */
  remove(storageKey: string): Promise<void>;
  exists(storageKey: string): Promise<boolean>;
  /**
   * Content older than that, for the search for orphans; includes unfinished leftovers. Each
   * listing starts at another place, so that a reader that never reaches the end still sees everything in time.
   */
  listOlderThan(ageMs: number): AsyncIterable<OldContent>;
  /** Writes and removes a trial file; throws when that fails, with what an operator can do about it. */
  probe(): Promise<void>;
  /** Closes connections. The storage cannot be used afterwards. */
  close(): Promise<void>;
}

export type FilesBackend = 'local' | 's3';

export interface StoredContent {
  storageKey: string;
  sizeBytes: number;
  sha256: string;
}

/** A leftover is what a crash left of an unfinished `store`; no row can name it. */
export type OldContent =
  | { kind: 'stored'; storageKey: string }
  | { kind: 'leftover'; remove(): Promise<void> };

export interface FileKey {
  tenantId: string;
  fileId: string;
}

export interface FileRecord extends FileKey {
  name: string;
  mediaType: string;
  sizeBytes: number;
  sha256: string;
  /** `rows`: a file whose rows were taken and whose bytes were not kept. */
  storage: FilesBackend | 'rows';
  storageKey: string;
  createdBy: string;
  createdAt: Date;
}
