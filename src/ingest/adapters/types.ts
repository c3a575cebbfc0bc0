import type { Writable } from 'node:stream';
import type { FileDoor } from '../../kernel/house/doors.ts';
import type { settingsOf } from './form.ts';

export const adapterKinds = ['folder', 's3', 'ftp'] as const;

export const fileStates = ['waiting', 'ingested', 'duplicate', 'failed'] as const;
export type FileState = (typeof fileStates)[number];

/** What a tenant sets about an adapter; `form.ts` says what each setting means. */
export type AdapterSettings = ReturnType<typeof settingsOf>;

/** Where the files are. */
export type Place = AdapterSettings['place'];
export type FolderPlace = Extract<Place, { kind: 'folder' }>;
export type S3Place = Extract<Place, { kind: 's3' }>;
export type FtpPlace = Extract<Place, { kind: 'ftp' }>;

/** What a file becomes. */
export type Target = AdapterSettings['target'];

export interface AdapterKey {
  tenantId: string;
  name: string;
}

export interface Adapter extends AdapterKey, AdapterSettings {
  nextScanAt: Date | null;
  failuresInRow: number;
  lastScanAt: Date | null;
  lastSuccessAt: Date | null;
  lastResult: ScanCounts | null;
  lastError: string | null;
  lastErrorCode: string | null;
  /** The worker of the running scan. */
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
  /** How long it has been unchanged. */
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

/** `version` changes with the content. */
export interface FileLook {
  sizeBytes: number;
  version: string;
}

/** A file as its place lists it. */
export interface FoundFile extends FileLook {
  path: string;
  /** By this machine's clock; null when the place has its own clock. */
  modifiedAt: Date | null;
}

/** An open place. Paths are relative to it. */
export interface FileSource {
  /** Files appear only when they are complete, so there is no need to wait. */
  readonly isAtomic: boolean;
  /** Yields batches in no order. Only files with wanted names are listed or queried. */
  list(isWanted: (name: string) => boolean): AsyncIterable<FoundFile[]>;
  /** Returns null when the file does not exist. */
  find(path: string): Promise<FoundFile | null>;
  /** Reads the whole file, or throws. */
  read(file: FoundFile, into: Writable): Promise<void>;
  /** Creates the folder of the new path if it does not exist. */
  move(names: { from: string; to: string }): Promise<void>;
  close(): Promise<void>;
}

/** The door to another house. */
export type TargetDoor = FileDoor<Target>;
export type TargetDoors = Record<Target['kind'], TargetDoor>;

export interface ScanCounts {
  /** Files that match the pattern. */
  seen: number;
  ingested: number;
  duplicates: number;
  waiting: number;
  failed: number;
  moved: number;
}

export type FileOutcome = 'ingested' | 'duplicate' | 'waiting' | 'failed' | 'not_moved';

export interface ScannedFile extends Pick<AdapterFile, 'path' | 'fileId' | 'reason' | 'jobId' | 'uploadId'> {
  outcome: FileOutcome;
}

export interface ScanReport extends ScanCounts {
  adapter: string;
  /** Another scan is running; nothing was done. */
  isBusy: boolean;
  scanningBy: string | null;
  /** False: there is more to do, and the next scan continues. */
  isComplete: boolean;
  files: ScannedFile[];
  errorCode: string | null;
  error: string | null;
}

/** The lease of a scan. Only the holder of the token may write. */
export interface ScanLease extends AdapterKey {
  token: string;
}
