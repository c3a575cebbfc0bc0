import path from 'node:path';
import { readVersion } from '../../lib/version.ts';
import { createLocalFiles } from './local-files.ts';
import { createS3Files } from './s3-files.ts';
import type { Files, FilesBackend } from './types.ts';

export interface FilesConfig {
  filesBackend: FilesBackend;
  dataDir: string;
  s3Endpoint?: string | null;
  s3Region?: string;
  s3Bucket?: string | null;
  s3Prefix?: string | null;
  s3AccessKeyId?: string | null;
  s3SecretAccessKey?: string | null;
  s3SessionToken?: string | null;
  s3PathStyle?: boolean;
}

/** The file storage that the configuration selects. */
export function createFiles(config: FilesConfig): Files {
  switch (config.filesBackend) {
    case 'local':
      return createLocalFiles({ root: path.join(config.dataDir, 'files') });
    case 's3':
      return createS3Files({
        endpoint: config.s3Endpoint ?? null,
        region: config.s3Region ?? 'us-east-1',
        bucket: config.s3Bucket ?? '',
        prefix: withSlash(config.s3Prefix ?? ''),
        accessKeyId: config.s3AccessKeyId ?? '',
        secretAccessKey: config.s3SecretAccessKey ?? '',
        sessionToken: config.s3SessionToken ?? null,
        pathStyle: config.s3PathStyle ?? false,
        userAgent: `Sluice/${readVersion()}`,
      });
  }
}

function withSlash(prefix: string): string {
  return prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/`;
}
