import type { Reference, ReferenceReader } from '../../../kernel/house/doors.ts';
import { storableText, storableTitle } from '../formats/safe-text.ts';
import type { DocumentLimits } from '../formats/types.ts';
import { loadGiven } from './inline.ts';
import {
  type DocumentBatch,
  type LoadContext,
  type LoadedDocument,
  type Source,
  sha256Of,
} from './source.ts';

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

function load(
  { url, title: scraped, content, mediaType = null }: Reference,
  options: Parameters<typeof loadGiven>[2],
): Promise<LoadedDocument> {
  const title = storableTitle(scraped);
  const contentHash = sha256Of(`${title}:${content}`);
  const input = { content, name: `${title || 'Untitled'}.md`, mediaType };
  return loadGiven(input, { uri: storableText(url), title, contentHash }, options);
}
