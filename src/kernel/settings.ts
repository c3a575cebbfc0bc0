import {
  directory,
  oneOf,
  secretText,
  text,
  urlOf,
  wholeNumber,
  yesOrNo,
} from '../lib/settings/setting-kinds.ts';
import { type SettingsCheck, type SettingValues, setting } from '../lib/settings/settings.ts';
import { fileChecks, fileSettings } from './files/settings.ts';
import { parseSecretKeys } from './secrets/stored-secrets.ts';
import { webhookSettings } from './webhooks/settings.ts';

/** The settings of an installation that belong to no house. */
const mebibyte = 1024 * 1024;
const postgresUrl = urlOf({
  schemes: ['postgres', 'postgresql'],
  example: 'postgres://user:password@host:5432/database',
});

export const kernelSettings = {
  port: setting({
    env: 'PORT',
    flag: '--port <number>',
    ...wholeNumber({ min: 0, max: 65_535 }),
    default: 7400,
    describe:
      'Port of the server. Unset: 7400, or the next free one. Set: exactly this one; 0 takes any free port.',
  }),
  host: setting({
    env: 'HOST',
    flag: '--host <address>',
    ...text({ max: 255 }),
    default: '127.0.0.1',
    describe: 'Address to listen on. 0.0.0.0 or :: opens the server to the network.',
  }),
  dataDir: setting({
    env: 'SLUICE_DATA_DIR',
    flag: '--data-dir <directory>',
    ...directory(),
    default: './.sluice',
    describe: 'Where the embedded database, stored files and the secrets of this installation are kept.',
  }),
  databaseUrl: setting({
    env: 'DATABASE_URL',
    ...postgresUrl,
    default: null,
    secret: 'url',
    describe:
      'PostgreSQL 15 or newer, as its owner: migrates and makes the application login. Unset: the embedded one.',
  }),
  databaseAppUrl: setting({
    env: 'DATABASE_APP_URL',
    ...postgresUrl,
    default: null,
    secret: 'url',
    describe:
      'The application login, if it is not the derived one. Alone, without DATABASE_URL: nothing is migrated.',
  }),
  databaseDirectUrl: setting({
    env: 'DATABASE_DIRECT_URL',
    ...postgresUrl,
    default: null,
    secret: 'url',
    describe: 'The owner past a connection pooler: used for migrations and for connections that hold locks.',
  }),
  databasePoolSize: setting({
    env: 'DATABASE_POOL_SIZE',
    ...wholeNumber({ min: 1, max: 500 }),
    default: 10,
    describe: 'The most database connections that one process opens for its work.',
  }),
  statementTimeoutMs: setting({
    env: 'STATEMENT_TIMEOUT_MS',
    ...wholeNumber({ min: 100, max: 3_600_000, unit: 'milliseconds' }),
    default: 30_000,
    describe: 'How long one statement of a request may take.',
  }),
  autoMigrate: setting({
    env: 'SLUICE_AUTO_MIGRATE',
    flag: '--no-migrate',
    ...yesOrNo(),
    default: true,
    describe: 'Migrate the database at start. Off: `sluice migrate up` has to be run before.',
  }),
  jwtSecret: setting({
    env: 'SLUICE_JWT_SECRET',
    ...secretText({ minBytes: 16 }),
    default: null,
    secret: 'whole',
    describe:
      'HS256 secret of tokens; 32 bytes or more are recommended. Unset: one is made and kept in the data directory.',
  }),
  jwtIssuer: setting({
    env: 'SLUICE_JWT_ISSUER',
    ...text(),
    default: 'sluice',
    describe: 'The `iss` that a token must have.',
  }),
  jwtAudience: setting({
    env: 'SLUICE_JWT_AUDIENCE',
    ...text(),
    default: 'sluice',
    describe: 'The `aud` that a token must have.',
  }),
  jwksUrl: setting({
    env: 'SLUICE_JWKS_URL',
    ...urlOf({ schemes: ['https', 'http'], example: 'https://login.example.com/.well-known/jwks.json' }),
    default: null,
    describe: 'Public keys of your login service, for RS256 and ES256 tokens.',
  }),
  secretKey: setting({
    env: 'SLUICE_SECRET_KEY',
    schema: text({ max: 10_000 }).schema.refine(holdsSecretKeys),
    allowed: 'one or more keys of 32 bytes, each as 64 hex digits or base64, separated by commas',
    default: null,
    secret: 'whole',
    describe: 'Keys for secrets that tenants store: the first encrypts, all decrypt. Unset: one is made.',
  }),
  worker: setting({
    env: 'SLUICE_WORKER',
    flag: '--no-worker',
    ...yesOrNo(),
    default: true,
    describe: 'Whether `sluice serve` also runs a worker.',
  }),
  workerConcurrency: setting({
    env: 'SLUICE_WORKER_CONCURRENCY',
    flag: '--concurrency <number>',
    ...wholeNumber({ min: 1, max: 256 }),
    default: 8,
    describe: 'How many slices of work one process runs at a time.',
  }),
  leaseMs: setting({
    env: 'LEASE_MS',
    ...wholeNumber({ min: 500, max: 600_000, unit: 'milliseconds' }),
    default: 10_000,
    describe: 'How long a silent worker keeps its job before another one may take it.',
  }),
  heartbeatMs: setting({
    env: 'HEARTBEAT_MS',
    ...wholeNumber({ min: 50, max: 300_000, unit: 'milliseconds' }),
    default: {
      text: 'a fifth of `LEASE_MS`',
      from: (values) => Math.max(50, Math.floor(Number(values.leaseMs) / 5)),
    },
    describe: 'How often a worker renews its leases; at most half of LEASE_MS.',
  }),
  pollMs: setting({
    env: 'POLL_MS',
    ...wholeNumber({ min: 10, max: 60_000, unit: 'milliseconds' }),
    default: 1000,
    describe: 'How often an idle worker looks for due work that nobody announced.',
  }),
  tenantConcurrency: setting({
    env: 'TENANT_CONCURRENCY',
    ...wholeNumber({ min: 1, max: 10_000 }),
    default: 50,
    describe:
      'How many slices of one tenant may run at once, unless its limit concurrent_jobs says otherwise.',
  }),
  maxWorkerCrashes: setting({
    env: 'MAX_WORKER_CRASHES',
    ...wholeNumber({ min: 1, max: 100 }),
    default: 3,
    describe: 'How many workers in a row may die with a job before it becomes a dead letter.',
  }),
  maxQueuedJobs: setting({
    env: 'MAX_QUEUED_JOBS',
    ...wholeNumber({ min: 1, max: 100_000_000 }),
    default: 100_000,
    describe:
      'How many jobs of one tenant may wait, unless its limit queued_jobs says otherwise; more are refused.',
  }),
  ...webhookSettings,
  eventRetentionDays: setting({
    env: 'EVENT_RETENTION_DAYS',
    ...wholeNumber({ min: 90, max: 36_500, unit: 'days' }),
    default: 90,
    describe: 'How long the audit log is kept.',
  }),
  jobRetentionDays: setting({
    env: 'JOB_RETENTION_DAYS',
    ...wholeNumber({ min: 1, max: 36_500, unit: 'days' }),
    default: 90,
    describe: 'How long finished jobs are kept.',
  }),
  blockPrivateAddresses: setting({
    env: 'SLUICE_BLOCK_PRIVATE_ADDRESSES',
    ...yesOrNo(),
    default: true,
    describe: 'Refuse outgoing requests of tenants to private, loopback and metadata addresses.',
  }),
  ...fileSettings,
  ingestEnabled: setting({
    env: 'DB_INGEST_ENABLED',
    ...yesOrNo(),
    default: true,
    describe: 'Whether files of rows are taken in. Off: POST /api/jobs answers 503.',
  }),
  ingestFolder: setting({
    env: 'INGEST_FOLDER',
    ...text({ max: 4_000 }),
    default: null,
    describe:
      'Files may be named in a fileRef that lie below this folder, in one with the name of their tenant. Unset: none.',
  }),
  maxBodyBytes: setting({
    env: 'MAX_BODY_BYTES',
    ...wholeNumber({ min: 1024, max: 1024 * mebibyte, unit: 'bytes' }),
    default: mebibyte,
    describe: 'Largest JSON body of a request.',
  }),
  maxUploadBytes: setting({
    env: 'MAX_UPLOAD_BYTES',
    ...wholeNumber({ min: 1024, max: 1024 * 1024 * mebibyte, unit: 'bytes' }),
    default: 1024 * mebibyte,
    describe: 'Largest file that can be uploaded.',
  }),
  rateLimitPerMinute: setting({
    env: 'RATE_LIMIT_PER_MINUTE',
    ...wholeNumber({ min: 1, max: 100_000_000 }),
    default: 12_000,
    describe: 'Requests that one client may make to one process per minute.',
  }),
  url: setting({
    env: 'SLUICE_URL',
    flag: '--url <url>',
    ...urlOf({ schemes: ['https', 'http'], example: 'https://sluice.example.com' }),
    default: null,
    describe: 'The server that the command line talks to. Unset: the one on this machine, at PORT.',
  }),
  token: setting({
    env: 'SLUICE_TOKEN',
    flag: '--token <token>',
    ...secretText({ minBytes: 16 }),
    default: null,
    secret: 'whole',
    describe:
      'The token or API key of the command line. Unset: one is signed with this installation’s secret.',
  }),
  publicUrl: setting({
    env: 'SLUICE_PUBLIC_URL',
    ...urlOf({ schemes: ['https', 'http'], example: 'https://sluice.example.com' }),
    default: null,
    describe: 'How users reach the server, for links and cookies. Unset: the address that it listens on.',
  }),
  trustProxy: setting({
    env: 'TRUST_PROXY',
    ...yesOrNo(),
    default: false,
    describe: 'Believe X-Forwarded-For and X-Forwarded-Proto. Only behind a proxy that sets them itself.',
  }),
  metricsToken: setting({
    env: 'METRICS_TOKEN',
    ...secretText({ minBytes: 16 }),
    default: null,
    secret: 'whole',
    describe: 'Bearer token that a scraper of /metrics must send.',
  }),
  metricsPort: setting({
    env: 'METRICS_PORT',
    ...wholeNumber({ min: 1, max: 65_535 }),
    default: null,
    describe: 'A port of its own for /metrics. Unset: the port of the server.',
  }),
  logLevel: setting({
    env: 'LOG_LEVEL',
    flag: '--log-level <level>',
    ...oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'),
    default: {
      text: '`warn` on the embedded database, else `info`',
      from: (values) => (values.databaseUrl === null && values.databaseAppUrl === null ? 'warn' : 'info'),
    },
    describe:
      'The least important messages that are still logged (to stderr, as JSON unless that is a terminal).',
  }),
  shutdownGraceMs: setting({
    env: 'SHUTDOWN_GRACE_MS',
    ...wholeNumber({ min: 0, max: 600_000, unit: 'milliseconds' }),
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
