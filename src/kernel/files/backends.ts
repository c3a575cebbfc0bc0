import path from 'node:path';
import { readVersion } from '../../lib/version.ts';
import { createLocalFiles } from './local-files.ts';
import { createS3Files } from './s3-files.ts';
import type { FileSettings } from './settings.ts';
import type { Files } from './types.ts';

export type FilesConfig = Partial<FileSettings> & Pick<FileSettings, 'filesBackend'> & { dataDir: string };

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
