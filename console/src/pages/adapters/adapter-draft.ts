import type { Adapter } from '../../api/types.ts';

/** An adapter as it stands in the form: every field of every kind, so that changing the kind loses nothing. */
export interface AdapterDraft {
  name: string;
  kind: Adapter['kind'];
  path: string;
  endpoint: string;
  region: string;
  bucket: string;
  prefix: string;
  pathStyle: boolean;
  accessKeyIdSecret: string;
  secretAccessKeySecret: string;
  host: string;
  port: number;
  user: string;
  passwordSecret: string;
  tls: boolean;
  caCertificate: string;
  target: 'items' | 'uploads';
  processor: string;
  /** JSON. */
  options: string;
  platform: 'meta' | 'google' | 'tiktok';
  workspaceId: string | null;
  pattern: string;
  everyMinutes: number | null;
  after: 'leave' | 'move';
  settleSeconds: number;
}

/** What every part of the form gets. */
export interface FieldsProps {
  draft: AdapterDraft;
  change: (changes: Partial<AdapterDraft>) => void;
  error: unknown;
}

export function draftOf(adapter: Adapter | null): AdapterDraft {
  const { target } = adapter ?? {};
  return {
    name: adapter?.name ?? '',
    kind: adapter?.kind ?? 'folder',
    path: adapter?.path ?? '',
    endpoint: adapter?.endpoint ?? '',
    region: adapter?.region ?? 'us-east-1',
    bucket: adapter?.bucket ?? '',
    prefix: adapter?.prefix ?? '',
    pathStyle: adapter?.path_style ?? false,
    accessKeyIdSecret: adapter?.access_key_id_secret ?? '',
    secretAccessKeySecret: adapter?.secret_access_key_secret ?? '',
    host: adapter?.host ?? '',
    port: adapter?.port ?? 21,
    user: adapter?.user ?? '',
    passwordSecret: adapter?.password_secret ?? '',
    tls: adapter?.tls ?? true,
    caCertificate: adapter?.ca_certificate ?? '',
    target: target?.kind ?? 'items',
    processor: target?.processor ?? '',
    options: JSON.stringify(target?.options ?? {}, null, 2),
    platform: (target?.platform ?? 'meta') as AdapterDraft['platform'],
    workspaceId: target?.workspace_id ?? null,
    pattern: adapter?.pattern ?? '',
    everyMinutes: adapter === null ? 5 : adapter.every_minutes,
    after: adapter?.after ?? 'leave',
    settleSeconds: adapter?.settle_seconds ?? 10,
  };
}

/** Null: it is not JSON, or not an object. */
export function optionsOf(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text.trim() === '' ? '{}' : text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

export function isReady(draft: AdapterDraft): boolean {
  if (draft.name.trim() === '') return false;
  if (draft.target === 'uploads' ? draft.workspaceId === null : optionsOf(draft.options) === null)
    return false;
  switch (draft.kind) {
    case 'folder':
      return true;
    case 's3':
      return draft.bucket !== '' && draft.accessKeyIdSecret !== '' && draft.secretAccessKeySecret !== '';
    case 'ftp':
      return draft.host !== '' && draft.passwordSecret !== '';
  }
}

export function bodyOf(draft: AdapterDraft) {
  const shared = {
    target: targetOf(draft),
    pattern: draft.pattern.trim() === '' ? null : draft.pattern.trim(),
    every_minutes: draft.everyMinutes,
    after: draft.after,
    settle_seconds: draft.settleSeconds,
  };
  switch (draft.kind) {
    case 'folder':
      return { kind: 'folder' as const, path: draft.path.trim(), ...shared };
    case 's3':
      return {
        kind: 's3' as const,
        endpoint: draft.endpoint.trim() === '' ? null : draft.endpoint.trim(),
        region: draft.region.trim(),
        bucket: draft.bucket.trim(),
        prefix: draft.prefix,
        path_style: draft.pathStyle,
        access_key_id_secret: draft.accessKeyIdSecret,
        secret_access_key_secret: draft.secretAccessKeySecret,
        ...shared,
      };
    case 'ftp':
      return {
        kind: 'ftp' as const,
        host: draft.host.trim(),
        port: draft.port,
        path: draft.path.trim() === '' ? '/' : draft.path.trim(),
        user: draft.user.trim() === '' ? 'anonymous' : draft.user.trim(),
        password_secret: draft.passwordSecret,
        tls: draft.tls,
        ca_certificate: draft.caCertificate.trim() === '' ? null : draft.caCertificate,
        ...shared,
      };
  }
}

function targetOf(draft: AdapterDraft) {
  if (draft.target === 'items') {
    const processor = draft.processor.trim() === '' ? null : draft.processor.trim();
    return { kind: 'items' as const, processor, options: optionsOf(draft.options) ?? {} };
  }
  return { kind: 'uploads' as const, platform: draft.platform, workspace_id: draft.workspaceId ?? '' };
}
