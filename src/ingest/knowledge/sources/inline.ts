import { readDocument } from '../formats/read-document.ts';
import { storableTitle } from '../formats/safe-text.ts';
import type { DocumentInput, DocumentLimits } from '../formats/types.ts';
import {
  type DocumentBatch,
  type LoadContext,
  type LoadedDocument,
  loadedDocument,
  type Source,
  sha256Of,
} from './source.ts';

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

function load({ type, content, title, limits }: InlineSourceOptions, context: LoadContext) {
  const given = storableTitle(title ?? '');
  const contentHash = sha256Of(`${type}:${given}:${content}`);
  const input = { content, name: given || 'Untitled', kind: type };
  return loadGiven(input, { uri, title: given, contentHash }, { context, limits });
}

/** Reads a text that the source already has, unless it is known. An empty title is replaced by that of the text. */
export async function loadGiven(
  { content, ...input }: Omit<DocumentInput, 'bytes'> & { content: string },
  { uri, title, contentHash }: { uri: string; title: string; contentHash: string },
  { context, limits }: { context: LoadContext; limits: Partial<DocumentLimits> | undefined },
): Promise<LoadedDocument> {
  const known = await context.findKnown([uri]);
  if (known.get(uri)?.contentHash === contentHash) return { kind: 'unchanged', uri };
  // Broken surrogate pairs become U+FFFD here.
  const bytes = Buffer.from(content, 'utf8');
  const result = await readDocument({ ...input, bytes }, { signal: context.signal, limits });
  return loadedDocument(result, { uri, title: title || result.title, contentHash });
}
