import { z } from 'zod';
import { timestamp } from '../../kernel/http/replies.ts';
import { hideNames } from '../../kernel/secrets/hide-names.ts';
import type { SeesName } from '../../kernel/secrets/types.ts';
import { toSnakeCase } from '../../lib/snake-case.ts';
import {
  type Adapter,
  type AdapterFile,
  adapterKinds,
  type FileState,
  fileStates,
  type ScanReport,
} from './types.ts';

const counts = {
  seen: z.int(),
  ingested: z.int(),
  duplicates: z.int(),
  waiting: z.int(),
  failed: z.int(),
  moved: z.int(),
};

const secretName = z.string().nullable().optional().describe('Null: one that you may not use');

export const adapterReply = z
  .object({
    name: z.string(),
    kind: z.enum(adapterKinds),
    path: z.string().optional(),
    endpoint: z.string().nullable().optional(),
    region: z.string().optional(),
    bucket: z.string().optional(),
    prefix: z.string().optional(),
    path_style: z.boolean().optional(),
    access_key_id_secret: secretName,
    secret_access_key_secret: secretName,
    host: z.string().optional(),
    port: z.int().optional(),
    user: z.string().optional(),
    password_secret: secretName,
    tls: z.boolean().optional(),
    ca_certificate: z.string().nullable().optional(),
    target: z.object({
      kind: z.enum(['items', 'uploads']),
      processor: z.string().nullable().optional(),
      options: z.record(z.string(), z.unknown()).optional(),
      platform: z.string().optional(),
      workspace_id: z.string().optional(),
    }),
    pattern: z.string().nullable(),
    every_minutes: z.int().nullable(),
    after: z.enum(['leave', 'move']),
    settle_seconds: z.int(),
    state: z.enum(['new', 'scanning', 'ok', 'failing']),
    scanning_by: z.string().nullable(),
    next_scan_at: timestamp.nullable(),
    last_scan_at: timestamp.nullable(),
    last_success_at: timestamp.nullable(),
    last_result: z.object(counts).nullable(),
    last_error: z.string().nullable(),
    last_error_code: z.string().nullable(),
    failures_in_row: z.int(),
    files: z.object({ waiting: z.int(), ingested: z.int(), duplicate: z.int(), failed: z.int() }),
    created_by: z.string(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Adapter' });

export type FileCounts = Partial<Record<FileState, number>>;

export function renderAdapter(
  adapter: Adapter,
  sees: SeesName,
  files: FileCounts = {},
): z.output<typeof adapterReply> {
  const { tenantId: _, place, target, isScanning, ...shown } = adapter;
  return {
    ...toSnakeCase(shown),
    ...hideNames(toSnakeCase(place), sees),
    target: target.kind === 'items' ? hideNames(target, sees) : toSnakeCase(target),
    state: stateOf(adapter),
    scanning_by: isScanning ? adapter.scanningBy : null,
    files: { waiting: 0, ingested: 0, duplicate: 0, failed: 0, ...files },
  };
}

function stateOf({ isScanning, lastError, lastScanAt }: Adapter): 'new' | 'scanning' | 'ok' | 'failing' {
  if (isScanning) return 'scanning';
  if (lastError !== null) return 'failing';
  return lastScanAt === null ? 'new' : 'ok';
}

export const fileReply = z
  .object({
    file_id: z.uuid(),
    adapter: z.string(),
    path: z.string(),
    size_bytes: z.int(),
    version: z.string().describe('The modification time or etag that the place reports'),
    sha256: z.string().nullable(),
    state: z.enum(fileStates),
    reason_code: z.string().nullable(),
    reason: z.string().nullable(),
    attempts: z.int(),
    jobId: z.uuid().nullable(),
    uploadId: z.uuid().nullable(),
    duplicate_of: z.uuid().nullable(),
    moved_to: z.string().nullable(),
    found_at: timestamp,
    last_seen_at: timestamp,
    finished_at: timestamp.nullable(),
  })
  .meta({ id: 'AdapterFile' });

export function renderFile(file: AdapterFile): z.output<typeof fileReply> {
  const { tenantId: _, looks: _looks, sameForMs: _sameForMs, jobId, uploadId, ...shown } = file;
  return { ...toSnakeCase(shown), jobId, uploadId };
}

export const scanReply = z
  .object({
    adapter: z.string(),
    busy: z.boolean().describe('Another scan is running; nothing was done'),
    scanning_by: z.string().nullable(),
    complete: z.boolean().describe('False: there is more to do, and the next scan continues'),
    ...counts,
    error_code: z.string().nullable(),
    error: z.string().nullable(),
    files: z.array(
      z.object({
        path: z.string(),
        outcome: z.enum(['ingested', 'duplicate', 'waiting', 'failed', 'not_moved']),
        reason: z.string().nullable(),
        file_id: z.uuid(),
        jobId: z.uuid().nullable(),
        uploadId: z.uuid().nullable(),
      }),
    ),
  })
  .meta({ id: 'AdapterScan' });

export function renderScan(report: ScanReport): z.output<typeof scanReply> {
  const { adapter, seen, ingested, duplicates, waiting, failed, moved, error } = report;
  return {
    ...{ adapter, seen, ingested, duplicates, waiting, failed, moved, error },
    busy: report.isBusy,
    scanning_by: report.scanningBy,
    complete: report.isComplete,
    error_code: report.errorCode,
    files: report.files.map(({ fileId: file_id, ...file }) => ({ ...file, file_id })),
  };
}

export const checkReply = z
  .object({
    ok: z.boolean(),
    files: z.array(z.string()).describe('Up to five names that a scan would read'),
    error_code: z.string().nullable(),
    error: z.string().nullable().describe('What is wrong'),
  })
  .meta({ id: 'AdapterCheck' });
