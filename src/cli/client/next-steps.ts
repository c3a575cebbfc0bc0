import { adapterErrors } from '../../ingest/adapters/errors.ts';
import { catalogErrors } from '../../ingest/catalog/errors.ts';
import { itemErrors } from '../../ingest/items/errors.ts';
import { exportErrors } from '../../ingest/items/export/errors.ts';
import { processorErrors } from '../../ingest/items/processing/processors/errors.ts';
import { embedderErrors } from '../../ingest/knowledge/embedders/errors.ts';
import { knowledgeErrors } from '../../ingest/knowledge/errors.ts';
import { scrapeErrors } from '../../ingest/scrapes/errors.ts';
import { uploadErrors } from '../../ingest/uploads/errors.ts';
import { eventErrors } from '../../kernel/events/errors.ts';
import { fileErrors } from '../../kernel/files/errors.ts';
import { jobErrors } from '../../kernel/jobs/errors.ts';
import { tenancyErrors } from '../../kernel/tenancy/errors.ts';
import type { ErrorDefinition } from '../../lib/errors.ts';
import { databaseErrors } from '../../lib/postgres/db-errors.ts';
import { readerErrors } from '../../lib/rows/errors.ts';

/** What to do about an error that the server named by its code. */
export function nextStepFor(code: string): string {
  return definitions[code]?.next ?? `docs/errors.md says under ${code} what to do.`;
}

const definitions: Record<string, ErrorDefinition | undefined> = {
  ...jobErrors.definitions,
  ...eventErrors.definitions,
  ...tenancyErrors.definitions,
  ...databaseErrors.definitions,
  ...fileErrors.definitions,
  ...itemErrors.definitions,
  ...processorErrors.definitions,
  ...catalogErrors.definitions,
  ...readerErrors.definitions,
  ...exportErrors.definitions,
  ...uploadErrors.definitions,
  ...knowledgeErrors.definitions,
  ...embedderErrors.definitions,
  ...scrapeErrors.definitions,
  ...adapterErrors.definitions,
};
