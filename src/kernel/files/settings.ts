import { messageOf } from '../../lib/errors.ts';
import { maxObjectBytes } from '../../lib/s3/multipart.ts';
import { assertPlace } from '../../lib/s3/place.ts';
import { oneOf, text, urlOf, yesOrNo } from '../../lib/settings/setting-kinds.ts';
import { type SettingsCheck, type SettingValues, setting } from '../../lib/settings/settings.ts';

/** Keys have no spaces; one at the end comes from the clipboard. */
const word = {
  schema: text({ max: 8_000 }).schema.refine((value) => /^[\x21-\x7e]+$/.test(value)),
  allowed: 'at most 8000 printable characters without spaces',
};

export const fileSettings = {
  filesBackend: setting('FILES_BACKEND', oneOf('local', 's3'), {
    default: 'local',
    describe: 'Where the bytes of stored files go: `local` is the data directory, `s3` a bucket.',
  }),
  s3Endpoint: setting(
    'S3_ENDPOINT',
    urlOf({ schemes: ['https', 'http'], example: 'https://minio.example.com:9000' }),
    {
      describe: 'The S3-compatible server of FILES_BACKEND=s3. Unset: Amazon’s server of S3_REGION.',
    },
  ),
  s3Region: setting(
    'S3_REGION',
    {
      schema: text({ max: 60 }).schema.refine((region) => /^[A-Za-z0-9-]+$/.test(region)),
      allowed:
        'the name of a region, such as eu-central-1; `auto` or `us-east-1` for servers without regions',
    },
    {
      default: 'us-east-1',
      describe: 'The region of the bucket.',
    },
  ),
  s3Bucket: setting('S3_BUCKET', text({ min: 3, max: 255 }), {
    describe: 'The bucket of stored files. It must exist.',
  }),
  s3Prefix: setting(
    'S3_PREFIX',
    {
      schema: text({ max: 500 }).schema.refine(isPrefix),
      allowed: 'names of letters, digits, . _ and -, separated by slashes, without a leading slash',
    },
    {
      describe: 'Precedes every key in the bucket. No two installations may share bucket and prefix.',
    },
  ),
  s3AccessKeyId: setting('S3_ACCESS_KEY_ID', word, {
    secret: 'whole',
    describe: 'The access key of the bucket: it lists the bucket and reads, writes and deletes objects.',
  }),
  s3SecretAccessKey: setting('S3_SECRET_ACCESS_KEY', word, {
    secret: 'whole',
    describe: 'The secret of the access key.',
  }),
  s3SessionToken: setting('S3_SESSION_TOKEN', word, {
    secret: 'whole',
    describe: 'The session token of temporary credentials. It is read once, at the start.',
  }),
  s3PathStyle: setting('S3_PATH_STYLE', yesOrNo(), {
    default: {
      text: '`true` with `S3_ENDPOINT`, else `false`',
      from: (values) => values.s3Endpoint !== null,
    },
    describe: 'The bucket in the path (host/bucket/key) instead of in the host name (bucket.host/key).',
  }),
};

export type FileSettings = SettingValues<typeof fileSettings>;

export const fileChecks: SettingsCheck<FileSettings & { maxUploadBytes: number }>[] = [
  (values) => {
    if (values.filesBackend !== 's3') return null;
    const missing = required.filter(([name]) => values[name] === null).map(([, variable]) => variable);
    if (missing.length === 0) return null;
    return `FILES_BACKEND is s3, which needs ${missing.join(', ')}. Allowed: all of them, or FILES_BACKEND=local.`;
  },
  (values) => {
    if (values.filesBackend !== 's3' || values.s3Bucket === null) return null;
    try {
      assertPlace({
        endpoint: values.s3Endpoint,
        region: values.s3Region,
        bucket: values.s3Bucket,
        pathStyle: values.s3PathStyle,
      });
      return null;
    } catch (error) {
      return `S3_ENDPOINT, S3_BUCKET and S3_PATH_STYLE do not fit together: ${messageOf(error)}.`;
    }
  },
  ({ filesBackend, maxUploadBytes }) =>
    filesBackend !== 's3' || maxUploadBytes <= maxObjectBytes
      ? null
      : `MAX_UPLOAD_BYTES is ${maxUploadBytes} and FILES_BACKEND is s3. Allowed: at most ${maxObjectBytes} there.`,
];

const required = [
  ['s3Bucket', 'S3_BUCKET'],
  ['s3AccessKeyId', 'S3_ACCESS_KEY_ID'],
  ['s3SecretAccessKey', 'S3_SECRET_ACCESS_KEY'],
] as const;

function isPrefix(prefix: string): boolean {
  const parts = prefix.replace(/\/$/, '').split('/');
  return parts.every((part) => /^[A-Za-z0-9._-]+$/.test(part) && part !== '.' && part !== '..');
}
