import { crawlErrors } from '../../kernel/crawl/errors.ts';
import { eventErrors } from '../../kernel/events/errors.ts';
import { fileErrors } from '../../kernel/files/errors.ts';
import { clientErrors } from '../../kernel/http/client-signal.ts';
import { cursorErrors } from '../../kernel/http/cursor.ts';
import { jobErrors } from '../../kernel/jobs/errors.ts';
import { limitErrors } from '../../kernel/limits/errors.ts';
import { secretErrors } from '../../kernel/secrets/errors.ts';
import { tenancyErrors } from '../../kernel/tenancy/errors.ts';
import { oidcErrors } from '../../kernel/tenancy/oidc/errors.ts';
import { webhookErrors } from '../../kernel/webhooks/errors.ts';
import type { ErrorChapter } from '../../lib/errors.ts';
import { fetchErrors } from '../../lib/fetch/errors.ts';
import { contentErrors } from '../../lib/formats/errors.ts';
import { jsonErrors } from '../../lib/json-depth.ts';
import { listenErrors } from '../../lib/listen.ts';
import { databaseErrors } from '../../lib/postgres/db-errors.ts';
import { migrationErrors } from '../../lib/postgres/migrate.ts';
import { roleErrors } from '../../lib/postgres/roles.ts';
import { s3Errors } from '../../lib/s3/errors.ts';
import { settingsErrors } from '../../lib/settings/settings.ts';
import { apiErrors } from '../errors.ts';

/** The catalogues outside the houses, in the order of docs/errors.md. A test finds one that is missing here. */
export const ownChapters: readonly ErrorChapter[] = [
  { title: 'Requests', catalogue: apiErrors },
  { title: 'Clients', catalogue: clientErrors },
  { title: 'Lists', catalogue: cursorErrors },
  { title: 'Tenants, users and keys', catalogue: tenancyErrors },
  { title: 'Sign-in with a login provider', catalogue: oidcErrors },
  { title: 'Files', catalogue: fileErrors },
  { title: 'JSON', catalogue: jsonErrors },
  { title: 'Contents of files', catalogue: contentErrors },
  { title: 'S3 servers', catalogue: s3Errors },
  { title: 'Jobs', catalogue: jobErrors },
  { title: 'Crawls', catalogue: crawlErrors },
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
