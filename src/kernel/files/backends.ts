import path from 'node:path';
import { createLocalFiles } from './local-files.ts';
import type { Files } from './types.ts';

/** The place for files that the configuration asks for. */
export function createFiles(config: { filesBackend: 'local'; dataDir: string }): Files {
  switch (config.filesBackend) {
    case 'local':
      return createLocalFiles({ root: path.join(config.dataDir, 'files') });
  }
}
