import type { Adapter, AdapterScan } from '../../api/types.ts';
import { count, plural } from '../../parts/number.ts';

/** Where an adapter looks, in one line. */
export function placeOf(adapter: Adapter): string {
  switch (adapter.kind) {
    case 'folder':
      return adapter.path === '' ? 'the tenant’s folder' : (adapter.path ?? '');
    case 's3':
      return `${adapter.endpoint ?? adapter.region ?? ''} · ${adapter.bucket}/${adapter.prefix ?? ''}`;
    case 'ftp':
      return `${adapter.host}:${adapter.port}${adapter.path}`;
  }
}

export const kindWords: Record<Adapter['kind'], string> = { folder: 'Folder', s3: 'S3', ftp: 'FTP' };

export function targetWords({ target }: Adapter): string {
  return target.kind === 'items'
    ? `items (${target.processor ?? 'by kind of file'})`
    : `uploads (${target.platform})`;
}

export function scheduleWords(everyMinutes: number | null): string {
  if (everyMinutes === null) return 'by hand';
  if (everyMinutes === 1) return 'every minute';
  if (everyMinutes % 1_440 === 0)
    return everyMinutes === 1_440 ? 'daily' : `every ${everyMinutes / 1_440} days`;
  if (everyMinutes % 60 === 0) return everyMinutes === 60 ? 'hourly' : `every ${everyMinutes / 60} hours`;
  return `every ${everyMinutes} minutes`;
}

/** What a scan did, as one sentence. */
export function scanWords(scan: AdapterScan): string {
  if (scan.busy) return `Another scan of ${scan.adapter} is running; nothing was done.`;
  const parts = [
    scan.ingested > 0 ? `${count(scan.ingested)} taken in` : null,
    scan.duplicates > 0 ? `${count(scan.duplicates)} already known` : null,
    scan.failed > 0 ? `${count(scan.failed)} failed` : null,
    scan.waiting > 0 ? `${count(scan.waiting)} still waiting` : null,
  ].filter((part) => part !== null);
  const result = parts.length === 0 ? 'nothing new' : parts.join(', ');
  const more = scan.complete ? '' : ' There are more files; the next scan continues.';
  return `Scanned ${plural(scan.seen, 'file')}: ${result}.${more}`;
}
