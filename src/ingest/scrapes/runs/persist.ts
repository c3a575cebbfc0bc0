import { newId } from '../../../lib/ids.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { scrapeErrors } from '../errors.ts';
import { type Opened, openIn } from '../handoffs/hand-over.ts';
import { payloadHashOf } from '../handoffs/payload.ts';
import { markGone, touchReferences, upsertReferences } from '../references/reference-store.ts';
import { shareSource } from '../store.ts';
import type { KnowledgeDoor, NewReference, RunCounts, ScrapeSource, SourceKey } from '../types.ts';

/** What a sync has found, in the order of external ids. */
export interface Brought {
  references: readonly NewReference[];
  unchanged?: readonly { externalId: string; memo: string | null }[];
  gone?: readonly string[];
}

export interface Persisted {
  opened: Opened;
  counts: Partial<RunCounts>;
}

/** Stores references and opens their hand-offs in one transaction. */
export async function persistIn(
  tx: Tx,
  key: SourceKey & { scrapeRunId: string; createdBy: string; knowledge: KnowledgeDoor },
  { references, unchanged = [], gone = [] }: Brought,
): Promise<Persisted> {
  const source = await getSharedSource(tx, key);
  const upserted = references.map((reference) => ({
    ...reference,
    referenceId: newId(),
    payloadHash: payloadHashOf(reference),
  }));
  const touched = [
    ...(upserted.length > 0 ? await upsertReferences(tx, key, upserted) : []),
    ...(unchanged.length > 0 ? await touchReferences(tx, key, unchanged) : []),
  ];
  if (gone.length > 0) await markGone(tx, key, gone);
  const opened = await openIn(tx, { ...key, source }, touched);
  return {
    opened,
    counts: {
      persisted: touched.length,
      created: touched.filter(({ isCreated }) => isCreated).length,
      changed: touched.filter(({ isChanged }) => isChanged).length,
    },
  };
}

async function getSharedSource(tx: Tx, key: SourceKey): Promise<ScrapeSource> {
  const source = await shareSource(tx, key);
  if (source) return source;
  throw scrapeErrors.raise.scrape_source_not_found(`There is no scrape source ${key.source}`);
}
