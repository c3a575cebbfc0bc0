import type { Readable, Writable } from 'node:stream';
import type { Tx } from '../../lib/postgres/db.ts';

/** The nouns of adapters: places outside, and the files that are found there. */
export const adapterKinds = ['folder', 's3', 'ftp'] as const;

export const fileStates = ['waiting', 'ingested', 'duplicate', 'failed'] as const;
export type FileState = (typeof fileStates)[number];

export interface FolderPlace {
  kind: 'folder';
  /** Below the tenant's folder in ADAPTER_FOLDER. */
  path: string;
}

export interface S3Place {
  kind: 's3';
  endpoint: string | null;
  region: string;
  bucket: string;
  prefix: string;
  pathStyle: boolean;
  accessKeyIdSecret: string;
  secretAccessKeySecret: string;
}

export interface FtpPlace {
  kind: 'ftp';
  host: string;
  port: number;
  path: string;
  user: string;
  passwordSecret: string;
  /** Explicit FTPS. */
  tls: boolean;
  /** PEM, for a server whose certificate no public authority has signed. */
  caCertificate: string | null;
}

export type Place = FolderPlace | S3Place | FtpPlace;

export interface ItemsTarget {
  kind: 'items';
  /** Null: the usual one for what each file turns out to be. */
  processor: string | null;
  options: Record<string, unknown>;
}

export interface UploadsTarget {
  kind: 'uploads';
  platform: string;
  workspaceId: string;
}

export type Target = ItemsTarget | UploadsTarget;

export interface AdapterKey {
  tenantId: string;
  name: string;
}

export interface AdapterSettings {
  place: Place;
  target: Target;
  /** Names of files: `*` and `?` stand for anything. */
  pattern: string | null;
  /** Null: only by hand. */
  everyMinutes: number | null;
  after: 'leave' | 'move';
  settleSeconds: number;
}

export interface Adapter extends AdapterKey, AdapterSettings {
  nextScanAt: Date | null;
  failuresInRow: number;
  lastScanAt: Date | null;
  lastSuccessAt: Date | null;
  lastResult: ScanCounts | null;
  lastError: string | null;
  lastErrorCode: string | null;
  /** Of the scan that runs. */
  scanningBy: string | null;
  isScanning: boolean;
  createdBy: string;
  createdAt: Date;
  updatedAt: Date;
}

export interface FileKey {
  tenantId: string;
  fileId: string;
}

export interface AdapterFile extends FileKey {
  adapter: string;
  path: string;
  sizeBytes: number;
  version: string;
  state: FileState;
  looks: number;
  /** Since it was first seen as it is. */
  sameForMs: number;
  attempts: number;
  sha256: string | null;
  jobId: string | null;
  uploadId: string | null;
  duplicateOf: string | null;
  reasonCode: string | null;
  reason: string | null;
  movedTo: string | null;
  foundAt: Date;
  lastSeenAt: Date;
  finishedAt: Date | null;
}

/** `version` changes when the content does. */
export interface FileLook {
  sizeBytes: number;
  version: string;
}

/** A file as its place shows it. */
export interface FoundFile extends FileLook {
  path: string;
  /** By a clock that is ours; null when the place has its own. */
  modifiedAt: Date | null;
}

/** An open place. Paths are those of its files: what the place shows, and nothing above it. */
export interface FileSource {
  /** Files appear whole or not at all: there is nothing to wait for. */
  readonly isAtomic: boolean;
  /** Some at a time, in no order, and only names that are wanted: of those nothing more is asked. */
  list(isWanted: (name: string) => boolean): AsyncIterable<FoundFile[]>;
  /** Null when it is gone. */
  find(path: string): Promise<FoundFile | null>;
  /** Reads it to its end, or throws. */
  read(file: FoundFile, into: Writable): Promise<void>;
  /** Makes the folder of the new path if that is missing. */
  move(names: { from: string; to: string }): Promise<void>;
  close(): Promise<void>;
}

/** A file that is handed to the house which makes something of it. */
export interface IncomingFile {
  tenantId: string;
  userId: string;
  target: Target;
  fileName: string;
  content: Readable;
  /** Runs in the transaction that makes the job. */
  record(tx: Tx, made: { jobId: string; uploadId: string | null }): Promise<void>;
}

/** The way into another house, as src/installation.ts hands it in. */
export interface TargetDoor {
  maxBytes: number;
  /** Throws what keeps every file out: an unknown processor, a workspace that is gone, an ingest that is off. */
  check(tenantId: string, target: Target): Promise<void>;
  takeIn(file: IncomingFile): Promise<void>;
}

export type TargetDoors = Record<Target['kind'], TargetDoor>;

export interface ScanCounts {
  /** Files that fit the pattern. */
  seen: number;
  ingested: number;
  duplicates: number;
  waiting: number;
  failed: number;
  moved: number;
}

export type FileOutcome = 'ingested' | 'duplicate' | 'waiting' | 'failed' | 'not_moved';

export interface ScannedFile {
  path: string;
  outcome: FileOutcome;
  fileId: string;
  reason: string | null;
  jobId: string | null;
  uploadId: string | null;
}

export interface ScanReport extends ScanCounts {
  adapter: string;
  /** Another scan is at work on it; nothing was done. */
  isBusy: boolean;
  scanningBy: string | null;
  /** False: there is more to do, and the next scan goes on. */
  isComplete: boolean;
  files: ScannedFile[];
  errorCode: string | null;
  error: string | null;
}

/** The lease of a scan: only who knows the token may write for it. */
export interface ScanLease extends AdapterKey {
  token: string;
}
