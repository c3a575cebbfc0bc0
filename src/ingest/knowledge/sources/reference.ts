import { createHash } from 'node:crypto';
import type { Reference, ReferenceReader } from '../../../kernel/house/doors.ts';
import { readDocument } from '../formats/read-document.ts';
import { storableText, storableTitle } from '../formats/safe-text.ts';
import type { DocumentLimits } from '../formats/types.ts';
import type { DocumentBatch, LoadContext, LoadedDocument, Source } from './source.ts';

export interface ReferenceSourceOptions {
  tenantId: string;
  kbId: string;
  /** Null: all references. */
  referenceId: string | null;
  reader: ReferenceReader | null;
  limits?: Partial<DocumentLimits>;
}

const referencesPerBatch = 8;

/**
 * What scrapes have handed over. A run of a single reference is never complete, so no other reference counts as gone.
 */
export function createReferenceSource(options: ReferenceSourceOptions): Source {
  return { batches: (context) => batches(options, context) };
}

async function* batches(
  { reader, limits, ...scope }: ReferenceSourceOptions,
  context: LoadContext,
): AsyncGenerator<DocumentBatch> {
  let after = typeof context.cursor?.after === 'string' ? context.cursor.after : null;
  const limit = referencesPerBatch;
  for (;;) {
    const page = reader === null ? [] : await reader.listReferences({ ...scope, after, limit });
    const documents: LoadedDocument[] = [];
    for (const reference of page) documents.push(await load(reference, { context, limits }));
    after = page.at(-1)?.referenceId ?? after;
    const isLast = page.length < limit || scope.referenceId !== null;
    const isComplete = reader !== null && scope.referenceId === null;
    yield { documents, cursor: { after }, ...(isLast ? { end: { isComplete } } : {}) };
    if (isLast) return;
  }
}

async function load(
  reference: Reference,
  { context, limits }: { context: LoadContext; limits: Partial<DocumentLimits> | undefined },
): Promise<LoadedDocument> {
  const { content, mediaType = null } = reference;
  const uri = storableText(reference.url);
  const given = storableTitle(reference.title);
  const contentHash = createHash('sha256').update(`${given}:${content}`).digest('hex');
  const known = await context.findKnown([uri]);
  if (known.get(uri)?.contentHash === contentHash) return { kind: 'unchanged', uri };
  const result = await readDocument(
    { bytes: Buffer.from(content, 'utf8'), name: `${given || 'Untitled'}.md`, mediaType },
    { signal: context.signal, ...(limits ? { limits } : {}) },
  );
  const title = given || result.title;
  if (result.kind === 'empty') return { kind: 'empty', uri, title, reason: result.reason };
  if (result.kind === 'error')
    return { kind: 'error', uri, title, code: result.code, message: result.message };
  const { text, mediaType: readAs, notes } = result;
  return { kind: 'text', uri, title, text, contentHash, mediaType: readAs, notes };
}
