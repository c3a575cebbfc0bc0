import { recordFile, removeFile } from '../../../kernel/files/service.ts';
import type { BeforeCommit } from '../../../kernel/jobs/dispatch/service.ts';
import type { Database, TenantView, Tx } from '../../../lib/postgres/db.ts';
import { findFileById, findShownGeneration, listFileDocuments } from '../bases/overview-store.ts';
import { knowledgeErrors } from '../errors.ts';
import { removeDocument as removeIndexed } from '../index/removal.ts';
import type { DocumentFilter } from '../labels/filter.ts';
import { deleteLabels, limitFile, putLabels } from '../labels/store.ts';
import type { Labels } from '../labels/types.ts';
import { unknownFieldNotes } from '../labels/unknown-fields.ts';
import { assertIdle, getKbIn, type KnowledgeServiceDeps } from '../service.ts';
import { uriOfFile } from '../sources/files.ts';
import {
  countKbFiles,
  deleteKbFile,
  findFilesSource,
  findKbFile,
  findSource,
  lockKb,
  putFile,
  shareKb,
} from '../store.ts';
import type { DocumentKey, DocumentState, KbKey, KnowledgeDocument, KnowledgeFile } from '../types.ts';
import { type DocumentFormDeps, forgetFiles, type ReceivedFile } from './form.ts';
import { countDocuments, countMatchingOthers, findDocument, listMatchingFiles } from './store.ts';

export interface DocumentDeps extends KnowledgeServiceDeps, DocumentFormDeps {}

/** Adds all files or none, in one transaction; if it fails, the stored bytes are deleted too. */
export async function addFiles(
  deps: DocumentDeps,
  key: KbKey,
  intake: {
    received: readonly ReceivedFile[];
    labels: Labels;
    origin: string | null;
    createdBy: string;
    beforeCommit: BeforeCommit<KnowledgeFile[]>;
  },
): Promise<KnowledgeFile[]> {
  try {
    return await deps.db.tenant(key.tenantId, async (tx) => {
      if (!(await shareKb(tx, key))) await getKbIn(tx, key);
      const made: KnowledgeFile[] = [];
      // In the order of names, so that two forms with the same files cannot deadlock.
      const ordered = intake.received.toSorted((one, other) => (one.name < other.name ? -1 : 1));
      const { origin, createdBy } = intake;
      for (const file of ordered) made.push(await addFile(deps, tx, key, { ...file, origin, createdBy }));
      const { labels } = intake;
      if (hasLabels(labels)) {
        for (const { name } of made) await labelFile(tx, { ...key, name, labels });
      }
      await assertRoom(deps, tx, key);
      await intake.beforeCommit(tx, made);
      return made;
    });
  } catch (error) {
    await forgetFiles(deps, intake.received, error);
    throw error;
  }
}

async function addFile(
  { files }: DocumentDeps,
  tx: Tx,
  key: KbKey,
  { name, mediaType, stored, origin, createdBy }: ReceivedFile & { origin: string | null; createdBy: string },
): Promise<KnowledgeFile> {
  const { tenantId } = key;
  const type = mediaType ?? 'application/octet-stream';
  const { fileId } = await recordFile(tx, { tenantId, name, mediaType: type, createdBy, files, stored });
  const { sizeBytes, sha256 } = stored;
  const { replaced } = await putFile(tx, {
    ...key,
    fileId,
    name,
    mediaType: type,
    sizeBytes,
    sha256,
    origin,
    createdBy,
  });
  if (replaced !== null) await removeFile(tx, { tenantId, fileId: replaced, files });
  const file = await findKbFile(tx, { ...key, name });
  if (!file) throw new Error(`The file ${fileId} cannot be found right after it was written`);
  return file;
}

function hasLabels({ metadata, allow }: Labels): boolean {
  return allow !== null || Object.keys(metadata).length > 0;
}

async function labelFile(
  tx: Tx,
  { name, labels, ...key }: KbKey & { name: string; labels: Labels },
): Promise<void> {
  const source = await findFilesSource(tx, key);
  if (source === null) throw new Error(`Knowledge base ${key.kbId} has no source for its files`);
  await putLabels(tx, { ...source, uri: uriOfFile(name) }, labels);
  if (labels.allow !== null) await limitFile(tx, { ...key, name, allow: labels.allow });
}

async function assertRoom({ limits }: DocumentDeps, tx: Tx, key: KbKey): Promise<void> {
  const { count } = await countKbFiles(tx, key);
  if (count <= limits.maxFiles) return;
  throw knowledgeErrors.raise.knowledge_limit_reached(
    `A knowledge base may have ${limits.maxFiles} files (KNOWLEDGE_MAX_FILES)`,
    { details: { limit: limits.maxFiles } },
  );
}

export function getDocument(
  { db }: { db: Database },
  key: DocumentKey & TenantView,
): Promise<KnowledgeDocument> {
  return db.read(key, async (tx) => {
    await getKbIn(tx, key);
    return (await findDocument(tx, key)) ?? noDocument(key);
  });
}

export function countContents(
  { db }: { db: Database },
  key: KbKey & TenantView,
): Promise<{ documents: Record<DocumentState, number>; chunks: number }> {
  return db.read(key, async (tx) => {
    const generation = await findShownGeneration(tx, key);
    const counted = await countDocuments(tx, { ...key, generation });
    const documents = { indexed: 0, empty: 0, error: 0, gone: 0 };
    for (const { state, count } of counted) documents[state] = count;
    return { documents, chunks: counted.reduce((sum, { chunks }) => sum + chunks, 0) };
  });
}

function noDocument({ kbId, documentId }: DocumentKey): never {
  throw knowledgeErrors.raise.knowledge_document_not_found(
    `Knowledge base ${kbId} has no document and no file ${documentId}`,
  );
}

/** Says more of a document, for all generations of the index. Holds at once, and through later runs. */
export function labelDocument(
  deps: Pick<DocumentDeps, 'db'>,
  key: DocumentKey,
  labels: Labels,
): Promise<KnowledgeDocument> {
  return deps.db.tenant(key.tenantId, async (tx) => {
    if (!(await shareKb(tx, key))) await getKbIn(tx, key);
    const { sourceId, uri } = (await findDocument(tx, key)) ?? noDocument(key);
    await putLabels(tx, { ...key, sourceId, uri }, labels);
    return (await findDocument(tx, key)) ?? noDocument(key);
  });
}

/** Deletes the file together with its indexed document. */
export function removeDocument(deps: DocumentDeps, key: DocumentKey): Promise<void> {
  return deps.db.tenant(key.tenantId, async (tx) => {
    if (!(await lockKb(tx, key))) await getKbIn(tx, key);
    const name = await nameOfFile(tx, key);
    await assertIdle(tx, key);
    const wasThere = await removeNamed(deps, tx, { ...key, name });
    if (!wasThere) noDocument(key);
  });
}

const removedAtOnce = 500;

export interface RemovedDocuments {
  deleted: number;
  /** Documents of other sources match too; the next run would bring them back. */
  kept: number;
  hasMore: boolean;
}

/** Deletes the files whose documents match, up to a few hundred at a time. */
export function removeMatching(
  deps: DocumentDeps,
  key: KbKey,
  filter: DocumentFilter,
): Promise<RemovedDocuments> {
  return deps.db.tenant(key.tenantId, async (tx) => {
    if (!(await lockKb(tx, key))) await getKbIn(tx, key);
    await assertIdle(tx, key);
    const generation = await findShownGeneration(tx, key);
    const [unknown] = await unknownFieldNotes(tx, { ...key, generation }, filter.fields);
    if (unknown !== undefined) throw knowledgeErrors.raise.knowledge_filter_field_unknown(unknown);
    const scope = { ...key, generation, filter: filter.path };
    const uris = await listMatchingFiles(tx, { ...scope, limit: removedAtOnce + 1 });
    for (const { uri } of uris.slice(0, removedAtOnce)) {
      await removeNamed(deps, tx, { ...key, name: uri.slice(uriPrefix.length) });
    }
    const kept = await countMatchingOthers(tx, scope);
    return {
      deleted: Math.min(uris.length, removedAtOnce),
      kept,
      hasMore: uris.length > removedAtOnce,
    };
  });
}

/** False if there was neither a file nor a document. */
async function removeNamed(
  { files }: Pick<DocumentDeps, 'files'>,
  tx: Tx,
  { tenantId, kbId, name }: KbKey & { name: string },
): Promise<boolean> {
  const uri = uriOfFile(name);
  const file = await deleteKbFile(tx, { tenantId, kbId, name });
  if (file) await removeFile(tx, { tenantId, fileId: file.fileId, files });
  const documents = await listFileDocuments(tx, { tenantId, kbId, uri });
  for (const document of documents) await removeIndexed(tx, { tenantId, kbId, ...document });
  const source = await findFilesSource(tx, { tenantId, kbId });
  if (source !== null) await deleteLabels(tx, { ...source, uri });
  return file !== null || documents.length > 0;
}

const uriPrefix = 'file:';

/** A request names a file by its id, or by the id of the document that a run has made from it. */
async function nameOfFile(tx: Tx, key: DocumentKey): Promise<string> {
  const file = await findFileById(tx, { ...key, fileId: key.documentId });
  if (file) return file.name;
  const document = (await findDocument(tx, key)) ?? noDocument(key);
  const source = await findSource(tx, { ...key, sourceId: document.sourceId });
  if (source?.type === 'files') return document.uri.slice(uriPrefix.length);
  throw knowledgeErrors.raise.knowledge_document_not_a_file(
    `Document ${document.documentId} comes from a source of type ${source?.type ?? 'unknown (the source was deleted)'}`,
  );
}
