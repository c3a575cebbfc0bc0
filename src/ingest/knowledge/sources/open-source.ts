import { tenantFolder } from '../../../kernel/files/folder.ts';
import { getFile } from '../../../kernel/files/service.ts';
import type { ReferenceReader } from '../../../kernel/house/doors.ts';
import type { Ground } from '../../../kernel/house/house.ts';
import { knowledgeErrors } from '../errors.ts';
import type { OcrSettings } from '../formats/ocr/recognise.ts';
import { listKbFiles } from '../store.ts';
import type { KbKey, KnowledgeSource } from '../types.ts';
import { createFilesSource } from './files.ts';
import { createFolderSource } from './folder.ts';
import { gitSettings, gitSource } from './git.ts';
import { createInlineSource } from './inline.ts';
import { createReferenceSource } from './reference.ts';
import { type S3Keys, s3Settings, s3Source } from './s3.ts';
import type { Source } from './source.ts';
import { lendForSource } from './source-secrets.ts';
import { websiteSettings, websiteSource } from './website.ts';
import { youtubeSettings, youtubeSource } from './youtube.ts';
import { zipSettings, zipSource } from './zip.ts';

export interface SourceDeps extends Pick<Ground, 'db' | 'files' | 'fetch' | 'secrets'> {
  /** Each tenant may use its own folder below it; null: no folders. */
  folderRoot: string | null;
  maxFileBytes: number;
  /** What reads images and scans; null: nothing. */
  ocr: OcrSettings | null;
  /** Reads what scrapes hand over; null if scrapes are not part of the program. */
  references: ReferenceReader | null;
  youtubeBaseUrl?: string | undefined;
}

/** A new kind of source is one file and one line here. */
export function openSource(
  deps: SourceDeps,
  source: KnowledgeSource,
  { referenceId }: { referenceId: string | null },
): Source {
  const { type, settings } = source;
  const limits = { maxBytes: deps.maxFileBytes, ocr: deps.ocr };
  switch (type) {
    case 'files':
      return createFilesSource({ ...storedFiles(deps, source), limits });
    case 'markdown':
    case 'text':
    case 'html':
      return createInlineSource({ type, ...inlineOf(settings), limits });
    case 'folder':
      return createFolderSource({ root: rootOf(deps, source), folder: String(settings.path), limits });
    case 'website':
      return websiteSource(websiteSettings.parse(settings), deps);
    case 'youtube':
      return youtubeSource(youtubeSettings.parse(settings), deps);
    case 's3':
      return s3Source(s3Settings.parse(settings), {
        fetch: deps.fetch,
        limits,
        readKeys: () => bucketKeys(deps, source),
      });
    case 'zip':
      return zipSource(zipSettings.parse(settings), {
        fetch: deps.fetch,
        limits,
        findRoot: () => rootOf(deps, source),
      });
    case 'git':
      return gitSource(gitSettings.parse(settings), {
        fetch: deps.fetch,
        limits,
        readToken: () => gitToken(deps, source),
      });
    case 'reference':
      return createReferenceSource({ ...source, referenceId, reader: deps.references, limits });
  }
}

async function bucketKeys(deps: SourceDeps, source: KnowledgeSource): Promise<S3Keys> {
  const settings = s3Settings.parse(source.settings);
  const id = await lendForSource(deps.secrets, source, settings.access_key_id_secret);
  const key = await lendForSource(deps.secrets, source, settings.secret_access_key_secret);
  const scrubError = (error: unknown) => key.scrubError(id.scrubError(error));
  return { accessKeyId: id.value, secretAccessKey: key.value, scrubError };
}

async function gitToken(deps: SourceDeps, source: KnowledgeSource) {
  const { token_secret: name } = gitSettings.parse(source.settings);
  return name === null ? null : lendForSource(deps.secrets, source, name);
}

function storedFiles({ db, files }: SourceDeps, { tenantId, kbId }: KbKey) {
  return {
    listFiles: (page: { afterName: string | null; limit: number }) =>
      db.tenant(tenantId, (tx) => listKbFiles(tx, { tenantId, kbId, ...page })),
    openFile: async ({ fileId }: { fileId: string }) => {
      const { storageKey } = await db.tenant(tenantId, (tx) => getFile(tx, { tenantId, fileId }));
      return files.open(storageKey);
    },
  };
}

function inlineOf({ content, title }: Record<string, unknown>): { content: string; title: string | null } {
  return { content: String(content ?? ''), title: typeof title === 'string' ? title : null };
}

/** The operator may have removed the setting since the source was created. */
function rootOf({ folderRoot }: SourceDeps, { tenantId }: KnowledgeSource): string {
  if (folderRoot !== null) return tenantFolder(folderRoot, tenantId);
  throw knowledgeErrors.raise.knowledge_folder_refused(
    'No folder is configured on this server (KNOWLEDGE_FOLDER_ROOT)',
  );
}
