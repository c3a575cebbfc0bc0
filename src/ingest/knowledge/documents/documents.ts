import { recordFile, removeFile } from '../../../kernel/files/service.ts';
import type { BeforeCommit } from '../../../kernel/jobs/dispatch/service.ts';
import type { Database, Tx } from '../../../lib/postgres/db.ts';
import { findFileById, findShownGeneration, listFileDocuments } from '../bases/overview-store.ts';
import { knowledgeErrors } from '../errors.ts';
import { removeDocument as removeIndexed } from '../index/removal.ts';
import { assertIdle, getKbIn, type KnowledgeServiceDeps } from '../service.ts';
import { uriOfFile } from '../sources/files.ts';
import { countKbFiles, deleteKbFile, findKbFile, findSource, lockKb, putFile, shareKb } from '../store.ts';
import type { DocumentKey, DocumentState, KbKey, KnowledgeDocument, KnowledgeFile } from '../types.ts';
import { type DocumentFormDeps, forgetFiles, type ReceivedFile } from './form.ts';
import { countDocuments, findDocument } from './store.ts';

export interface DocumentDeps extends KnowledgeServiceDeps, DocumentFormDeps {}

/** Adds all files or none, in one transaction; if it fails, the stored bytes are deleted too. */
export async function addFiles(
  deps: DocumentDeps,
  key: KbKey,
  intake: {
    received: readonly ReceivedFile[];
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

async function assertRoom({ limits }: DocumentDeps, tx: Tx, key: KbKey): Promise<void> {
  const { count } = await countKbFiles(tx, key);
  if (count <= limits.maxFiles) return;
  throw knowledgeErrors.raise.knowledge_limit_reached(
    `A knowledge base may have ${limits.maxFiles} files (KNOWLEDGE_MAX_FILES)`,
    { details: { limit: limits.maxFiles } },
  );
}

export function getDocument({ db }: { db: Database }, key: DocumentKey): Promise<KnowledgeDocument> {
  return db.tenant(key.tenantId, async (tx) => {
    await getKbIn(tx, key);
    return (await findDocument(tx, key)) ?? noDocument(key);
  });
}

export function countContents(
  { db }: { db: Database },
  key: KbKey,
): Promise<{ documents: Record<DocumentState, number>; chunks: number }> {
  return db.tenant(key.tenantId, async (tx) => {
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

/** Deletes the file together with its indexed document. */
export function removeDocument(deps: DocumentDeps, key: DocumentKey): Promise<void> {
  const { tenantId, kbId } = key;
  return deps.db.tenant(tenantId, async (tx) => {
    if (!(await lockKb(tx, key))) await getKbIn(tx, key);
    const name = await nameOfFile(tx, key);
    await assertIdle(tx, key);
    const file = await deleteKbFile(tx, { ...key, name });
    if (file) await removeFile(tx, { tenantId, fileId: file.fileId, files: deps.files });
    const documents = await listFileDocuments(tx, { ...key, uri: uriOfFile(name) });
    for (const document of documents) await removeIndexed(tx, { tenantId, kbId, ...document });
    if (!file && documents.length === 0) noDocument(key);
  });
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
