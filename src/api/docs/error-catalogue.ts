import { adapterErrors, adapterFailures } from '../../ingest/adapters/errors.ts';
import { catalogErrors } from '../../ingest/catalog/errors.ts';
import { connectorErrors, syncFailures } from '../../ingest/connectors/errors.ts';
import { itemErrors } from '../../ingest/items/errors.ts';
import { exportErrors } from '../../ingest/items/export/errors.ts';
import { imageErrors, imageFailures } from '../../ingest/items/images/errors.ts';
import { processorErrors } from '../../ingest/items/processing/processors/errors.ts';
import { embedderErrors } from '../../ingest/knowledge/embedders/errors.ts';
import { knowledgeErrors, knowledgeFailures } from '../../ingest/knowledge/errors.ts';
import { documentErrors } from '../../ingest/knowledge/formats/errors.ts';
import { youtubeErrors } from '../../ingest/knowledge/sources/youtube-errors.ts';
import { scrapeErrors, scrapeFailures } from '../../ingest/scrapes/errors.ts';
import { uploadErrors, uploadFailures } from '../../ingest/uploads/errors.ts';
import { reportErrors } from '../../ingest/uploads/reports/errors.ts';
import { profileErrors } from '../../ingest/uploads/reports/profile-errors.ts';
import { crawlErrors } from '../../kernel/crawl/errors.ts';
import { eventErrors } from '../../kernel/events/errors.ts';
import { fileErrors } from '../../kernel/files/errors.ts';
import { cursorErrors } from '../../kernel/http/cursor.ts';
import { jobErrors } from '../../kernel/jobs/errors.ts';
import { limitErrors } from '../../kernel/limits/errors.ts';
import { secretErrors } from '../../kernel/secrets/errors.ts';
import { tenancyErrors } from '../../kernel/tenancy/errors.ts';
import { webhookErrors } from '../../kernel/webhooks/errors.ts';
import type { ErrorCatalogue, ErrorDefinition } from '../../lib/errors.ts';
import { fetchErrors } from '../../lib/fetch/errors.ts';
import { contentErrors } from '../../lib/formats/errors.ts';
import { listenErrors } from '../../lib/listen.ts';
import { databaseErrors } from '../../lib/postgres/db-errors.ts';
import { migrationErrors } from '../../lib/postgres/migrate.ts';
import { roleErrors } from '../../lib/postgres/roles.ts';
import { readerErrors } from '../../lib/rows/errors.ts';
import { s3Errors } from '../../lib/s3/errors.ts';
import { settingsErrors } from '../../lib/settings/settings.ts';
import { apiErrors } from '../errors.ts';

export interface CatalogueChapter {
  title: string;
  catalogue: Pick<ErrorCatalogue, 'definitions'>;
}

/** Every catalogue of the program, in the order of docs/errors.md. A new `errors.ts` is added here; a test looks. */
export const errorChapters: CatalogueChapter[] = [
  { title: 'Requests', catalogue: apiErrors },
  { title: 'Lists', catalogue: cursorErrors },
  { title: 'Tenants, users and keys', catalogue: tenancyErrors },
  { title: 'Files', catalogue: fileErrors },
  { title: 'Contents of files', catalogue: contentErrors },
  { title: 'S3 servers', catalogue: s3Errors },
  { title: 'Jobs', catalogue: jobErrors },
  { title: 'Items', catalogue: itemErrors },
  { title: 'Files of rows', catalogue: readerErrors },
  { title: 'Images', catalogue: imageErrors },
  { title: 'Failed images', catalogue: imageFailures },
  { title: 'Processors', catalogue: processorErrors },
  { title: 'Catalogues', catalogue: catalogErrors },
  { title: 'Exports', catalogue: exportErrors },
  { title: 'Uploads', catalogue: uploadErrors },
  { title: 'Report files', catalogue: reportErrors },
  { title: 'Reports', catalogue: profileErrors },
  { title: 'Failed uploads', catalogue: uploadFailures },
  { title: 'Connectors', catalogue: connectorErrors },
  { title: 'Failed syncs', catalogue: syncFailures },
  { title: 'Knowledge bases', catalogue: knowledgeErrors },
  { title: 'Documents', catalogue: documentErrors },
  { title: 'Embedders', catalogue: embedderErrors },
  { title: 'Failed knowledge runs', catalogue: knowledgeFailures },
  { title: 'Scrapes', catalogue: scrapeErrors },
  { title: 'Failed scrapes', catalogue: scrapeFailures },
  { title: 'Adapters', catalogue: adapterErrors },
  { title: 'Failed scans of adapters', catalogue: adapterFailures },
  { title: 'Crawls', catalogue: crawlErrors },
  { title: 'Captions of videos', catalogue: youtubeErrors },
  { title: 'Outgoing requests', catalogue: fetchErrors },
  { title: 'Events', catalogue: eventErrors },
  { title: 'Webhooks', catalogue: webhookErrors },
  { title: 'Limits', catalogue: limitErrors },
  { title: 'Stored secrets', catalogue: secretErrors },
  { title: 'Database', catalogue: databaseErrors },
  { title: 'Migrations', catalogue: migrationErrors },
  { title: 'Database roles', catalogue: roleErrors },
  { title: 'Configuration', catalogue: settingsErrors },
  { title: 'Listening', catalogue: listenErrors },
];

/** The text of docs/errors.md. Every code is a heading, so that a problem’s `type` leads to it. */
export function renderErrorsDocument(chapters: CatalogueChapter[] = errorChapters): string {
  const lines = [
    '# Errors',
    '',
    'Generated from the catalogues by `npm run generate`; do not edit.',
    '',
    'The API answers errors as `application/problem+json` (RFC 9457) with a stable `code`; `detail` says what happened',
    'this time, `errors` points at wrong input, `request_id` is in the log. Errors of kind `transient` and',
    '`rate_limited` pass: repeat the request, after `Retry-After` where it is given. The command line shows the same',
    'codes.',
    '',
  ];
  for (const { title, catalogue } of chapters) {
    lines.push(`## ${title}`, '');
    for (const [code, definition] of sortedEntries(catalogue.definitions)) {
      lines.push(`### ${code}`, '', `${definition.title}. (${definition.status}, ${definition.kind})`, '');
      lines.push(definition.next, '');
    }
  }
  return `${lines.join('\n').trimEnd()}\n`;
}

function sortedEntries(definitions: Record<string, ErrorDefinition>): [string, ErrorDefinition][] {
  return Object.entries(definitions).sort(([a], [b]) => (a < b ? -1 : 1));
}
