import {
  bytes,
  days,
  directory,
  milliseconds,
  oneOf,
  secretText,
  text,
  urlOf,
  wholeNumber,
  yesOrNo,
} from '../lib/settings/setting-kinds.ts';
import { type SettingsCheck, type SettingValues, setting } from '../lib/settings/settings.ts';
import { fileChecks, fileSettings } from './files/settings.ts';
import { limitSettings } from './limits/settings.ts';
import { parseSecretKeys } from './secrets/stored-secrets.ts';
import { oidcChecks, oidcSettings } from './tenancy/oidc/settings.ts';
import { webhookSettings } from './webhooks/settings.ts';

/** The settings of an installation that belong to no house. */
const mebibyte = 1024 * 1024;
const postgresUrl = urlOf({
  schemes: ['postgres', 'postgresql'],
  example: 'postgres://user:password@host:5432/database',
});

export const kernelSettings = {
  port: setting('PORT', wholeNumber({ min: 0, max: 65_535 }), {
    flag: '--port <number>',
    default: 7400,
    describe:
      'Port of the server. Unset: 7400, or the next free one. Set: exactly this one; 0 takes any free port.',
  }),
  host: setting('HOST', text({ max: 255 }), {
    flag: '--host <address>',
    default: '127.0.0.1',
    describe: 'Address to listen on. 0.0.0.0 or :: opens the server to the network.',
  }),
  dataDir: setting('SLUICE_DATA_DIR', directory(), {
    flag: '--data-dir <directory>',
    default: './.sluice',
    describe: 'Where the embedded database, stored files and the secrets of this installation are kept.',
  }),
  databaseUrl: setting('DATABASE_URL', postgresUrl, {
    secret: 'url',
    describe:
      'PostgreSQL 15 or newer, as its owner: migrates and creates the application login. Unset: the embedded one.',
  }),
  databaseAppUrl: setting('DATABASE_APP_URL', postgresUrl, {
    secret: 'url',
    describe:
      'The application login, if it is not the derived one. Alone, without DATABASE_URL: nothing is migrated.',
  }),
  databaseKernelUrl: setting('DATABASE_KERNEL_URL', postgresUrl, {
    secret: 'url',
    describe:
      'The login for work across tenants, if it is not the derived one. Needed beside DATABASE_APP_URL, unless that ' +
      'login does both.',
  }),
  databaseDirectUrl: setting('DATABASE_DIRECT_URL', postgresUrl, {
    secret: 'url',
    describe:
      'The owner’s URL without a connection pooler: for migrations and for connections that hold locks.',
  }),
  databasePoolSize: setting('DATABASE_POOL_SIZE', wholeNumber({ min: 1, max: 500 }), {
    default: 10,
    describe:
      'The most database connections that one process opens for its work; three tenths of them are the kernel’s.',
  }),
  statementTimeoutMs: setting('STATEMENT_TIMEOUT_MS', milliseconds({ min: 100, max: 3_600_000 }), {
    default: 30_000,
    describe: 'How long one statement of a request may take.',
  }),
  autoMigrate: setting('SLUICE_AUTO_MIGRATE', yesOrNo(), {
    flag: '--no-migrate',
    default: true,
    describe: 'Migrate the database at start. Off: run `sluice migrate up` first.',
  }),
  jwtSecret: setting('SLUICE_JWT_SECRET', secretText({ minBytes: 16 }), {
    secret: 'whole',
    describe:
      'HS256 secret of tokens; 32 bytes or more are recommended. Unset: one is created and kept in the data directory.',
  }),
  jwtIssuer: setting('SLUICE_JWT_ISSUER', text(), {
    default: 'sluice',
    describe: 'The `iss` that a token must have.',
  }),
  jwtAudience: setting('SLUICE_JWT_AUDIENCE', text(), {
    default: 'sluice',
    describe: 'The `aud` that a token must have.',
  }),
  jwksUrl: setting(
    'SLUICE_JWKS_URL',
    urlOf({ schemes: ['https', 'http'], example: 'https://login.example.com/.well-known/jwks.json' }),
    {
      describe: 'Public keys of your login service, for RS256 and ES256 tokens.',
    },
  ),
  ...oidcSettings,
  secretKey: setting(
    'SLUICE_SECRET_KEY',
    {
      schema: text({ max: 10_000 }).schema.refine(holdsSecretKeys),
      allowed: 'one or more keys of 32 bytes, each as 64 hex digits or base64, separated by commas',
    },
    {
      secret: 'whole',
      describe:
        'Keys for secrets that tenants store: the first encrypts, all decrypt. Unset: one is created.',
    },
  ),
  worker: setting('SLUICE_WORKER', yesOrNo(), {
    flag: '--no-worker',
    default: true,
    describe: 'Whether `sluice serve` also runs a worker.',
  }),
  workerConcurrency: setting('SLUICE_WORKER_CONCURRENCY', wholeNumber({ min: 1, max: 256 }), {
    flag: '--concurrency <number>',
    default: 8,
    describe: 'How many slices of work one process runs at a time.',
  }),
  leaseMs: setting('LEASE_MS', milliseconds({ min: 500, max: 600_000 }), {
    default: 10_000,
    describe: 'How long a silent worker keeps its job before another one may take it.',
  }),
  heartbeatMs: setting('HEARTBEAT_MS', milliseconds({ min: 50, max: 300_000 }), {
    default: {
      text: 'a fifth of `LEASE_MS`',
      from: (values) => Math.max(50, Math.floor(Number(values.leaseMs) / 5)),
    },
    describe: 'How often a worker renews its leases; at most half of LEASE_MS.',
  }),
  pollMs: setting('POLL_MS', milliseconds({ min: 10, max: 60_000 }), {
    default: 1000,
    describe: 'How often an idle worker looks for due work that nobody announced.',
  }),
  tenantConcurrency: setting('TENANT_CONCURRENCY', wholeNumber({ min: 1, max: 10_000 }), {
    default: 50,
    describe:
      'How many slices of one tenant may run at once, unless its limit concurrent_jobs says otherwise.',
  }),
  maxWorkerCrashes: setting('MAX_WORKER_CRASHES', wholeNumber({ min: 1, max: 100 }), {
    default: 3,
    describe: 'How many workers in a row may die with a job before it becomes a dead letter.',
  }),
  maxQueuedJobs: setting('MAX_QUEUED_JOBS', wholeNumber({ min: 1, max: 100_000_000 }), {
    default: 100_000,
    describe:
      'How many jobs of one tenant may wait, unless its limit queued_jobs says otherwise; more are refused.',
  }),
  ...webhookSettings,
  eventRetentionDays: setting('EVENT_RETENTION_DAYS', days({ min: 90, max: 36_500 }), {
    default: 90,
    describe: 'How long the audit log is kept.',
  }),
  jobRetentionDays: setting('JOB_RETENTION_DAYS', days({ min: 1, max: 36_500 }), {
    default: 90,
    describe: 'How long finished jobs are kept.',
  }),
  blockPrivateAddresses: setting('SLUICE_BLOCK_PRIVATE_ADDRESSES', yesOrNo(), {
    default: true,
    describe: 'Refuse outgoing requests of tenants to private, loopback and metadata addresses.',
  }),
  ...fileSettings,
  ingestEnabled: setting('DB_INGEST_ENABLED', yesOrNo(), {
    default: true,
    describe: 'Whether files of rows are accepted. Off: POST /api/jobs returns 503.',
  }),
  ingestFolder: setting('INGEST_FOLDER', text({ max: 4_000 }), {
    describe:
      'The folder of files that a fileRef may name, with a subfolder named after each tenant. Unset: none.',
  }),
  maxBodyBytes: setting('MAX_BODY_BYTES', bytes({ min: 1024, max: 1024 * mebibyte }), {
    default: mebibyte,
    describe:
      'Largest JSON body of a request that carries data. Other requests may have 64 KiB, those without a login 16 KiB.',
  }),
  maxUploadBytes: setting('MAX_UPLOAD_BYTES', bytes({ min: 1024, max: 1024 * 1024 * mebibyte }), {
    default: 1024 * mebibyte,
    describe: 'Largest file that can be uploaded.',
  }),
  rateLimitPerMinute: setting('RATE_LIMIT_PER_MINUTE', wholeNumber({ min: 1, max: 100_000_000 }), {
    default: 12_000,
    describe: 'Requests that one client may make to one process per minute.',
  }),
  ...limitSettings,
  url: setting('SLUICE_URL', urlOf({ schemes: ['https', 'http'], example: 'https://sluice.example.com' }), {
    flag: '--url <url>',
    describe: 'The server that the command line talks to. Unset: the one on this machine, at PORT.',
  }),
  token: setting('SLUICE_TOKEN', secretText({ minBytes: 16 }), {
    flag: '--token <token>',
    secret: 'whole',
    describe:
      'The token or API key of the command line. Unset: one is signed with this installation’s secret.',
  }),
  publicUrl: setting(
    'SLUICE_PUBLIC_URL',
    urlOf({ schemes: ['https', 'http'], example: 'https://sluice.example.com' }),
    {
      describe: 'How users reach the server, for links and cookies. Unset: the address that it listens on.',
    },
  ),
  trustProxy: setting('TRUST_PROXY', yesOrNo(), {
    default: false,
    describe: 'Trust X-Forwarded-For and X-Forwarded-Proto. Only behind a proxy that sets them itself.',
  }),
  metricsToken: setting('METRICS_TOKEN', secretText({ minBytes: 16 }), {
    secret: 'whole',
    describe: 'Bearer token that a scraper of /metrics must send.',
  }),
  metricsPort: setting('METRICS_PORT', wholeNumber({ min: 1, max: 65_535 }), {
    describe: 'A port of its own for /metrics. Unset: the port of the server.',
  }),
  logLevel: setting('LOG_LEVEL', oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'), {
    flag: '--log-level <level>',
    default: {
      text: '`warn` on the embedded database, else `info`',
      from: (values) => (values.databaseUrl === null && values.databaseAppUrl === null ? 'warn' : 'info'),
    },
    describe: 'The lowest level that is logged (to stderr, as JSON unless that is a terminal).',
  }),
  shutdownGraceMs: setting('SHUTDOWN_GRACE_MS', milliseconds({ min: 0, max: 600_000 }), {
    default: 10_000,
    describe: 'How long a stopping process waits for requests and slices in flight.',
  }),
};

export type KernelConfig = SettingValues<typeof kernelSettings>;

export const kernelChecks: SettingsCheck<KernelConfig>[] = [
  ({ heartbeatMs, leaseMs }) =>
    heartbeatMs * 2 <= leaseMs
      ? null
      : `HEARTBEAT_MS is ${heartbeatMs} and LEASE_MS is ${leaseMs}. Allowed: a heartbeat of at most half the lease.`,
  ...fileChecks,
  ...oidcChecks,
  ({ metricsPort, port }) =>
    metricsPort === null || metricsPort !== port
      ? null
      : `METRICS_PORT and PORT are both ${port}. Allowed: two different ports, or no METRICS_PORT.`,
];

function holdsSecretKeys(value: string): boolean {
  try {
    parseSecretKeys(value);
    return true;
  } catch {
    // The caller reports the value as not allowed, with what is; the reason would repeat that.
    return false;
  }
}
