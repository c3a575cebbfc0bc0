import { createHash } from 'node:crypto';
import { readDocument } from '../formats/read-document.ts';
import { storableTitle } from '../formats/safe-text.ts';
import type { DocumentLimits } from '../formats/types.ts';
import type { DocumentBatch, LoadContext, LoadedDocument, Source } from './source.ts';

export interface InlineSourceOptions {
  type: 'markdown' | 'text' | 'html';
  content: string;
  /** Used if the document has no title. */
  title?: string | null;
  limits?: Partial<DocumentLimits>;
}

/** The source has one document, whose text is in the settings of the source. */
const uri = 'inline:content';

export function createInlineSource(options: InlineSourceOptions): Source {
  return { batches: (context) => batches(options, context) };
}

async function* batches(options: InlineSourceOptions, context: LoadContext): AsyncGenerator<DocumentBatch> {
  const cursor = { isRead: true };
  const isRead = context.cursor?.isRead === true;
  const documents = isRead ? [] : [await load(options, context)];
  yield { documents, cursor, end: { isComplete: true } };
}

async function load(options: InlineSourceOptions, context: LoadContext): Promise<LoadedDocument> {
  const { type, content } = options;
  const given = storableTitle(options.title ?? '');
  const contentHash = createHash('sha256').update(`${type}:${given}:${content}`).digest('hex');
  const known = await context.findKnown([uri]);
  if (known.get(uri)?.contentHash === contentHash) return { kind: 'unchanged', uri };
  const result = await readDocument(
    // Broken surrogate pairs become U+FFFD here.
    { bytes: Buffer.from(content, 'utf8'), name: given || 'Untitled', kind: type },
    { signal: context.signal, limits: options.limits },
  );
  const title = given || result.title;
  if (result.kind === 'empty') return { kind: 'empty', uri, title, reason: result.reason };
  if (result.kind === 'error') return { ...result, uri, title };
  const { text, mediaType, notes } = result;
  return { kind: 'text', uri, title, text, contentHash, mediaType, notes };
}
