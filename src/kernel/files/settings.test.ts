import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { wholeNumber } from '../../lib/settings/setting-kinds.ts';
import { loadSettings, setting } from '../../lib/settings/settings.ts';
import { fileChecks, fileSettings } from './settings.ts';

const table = {
  ...fileSettings,
  maxUploadBytes: setting('MAX_UPLOAD_BYTES', wholeNumber({ min: 1, max: 2 ** 40 }), {
    default: 1024,
    describe: 'Largest file that can be uploaded.',
  }),
};

const complete = {
  FILES_BACKEND: 's3',
  S3_BUCKET: 'my-bucket',
  S3_ACCESS_KEY_ID: 'AKIA',
  S3_SECRET_ACCESS_KEY: 'secret',
};

async function load(env: Record<string, string>) {
  const input = { flags: {}, env, cwd: tmpdir(), configName: 'no-such-config', prefix: 'SLUICE_' };
  return (await loadSettings(table, { ...input, checks: fileChecks })).values;
}

test('without any setting files are stored in the data directory', async () => {
  expect(await load({})).toMatchObject({ filesBackend: 'local', s3Bucket: null });
});

test('the bucket is in the path on a custom server, in the host name on Amazon’s', async () => {
  expect(await load(complete)).toMatchObject({ s3PathStyle: false, s3Endpoint: null, s3Region: 'us-east-1' });
  const own = { ...complete, S3_ENDPOINT: 'https://minio.example.com:9000' };
  expect(await load(own)).toMatchObject({ s3PathStyle: true });
  expect(await load({ ...own, S3_PATH_STYLE: 'no' })).toMatchObject({ s3PathStyle: false });
});

test('a prefix may end in a slash or not', async () => {
  for (const prefix of ['a', 'a/', 'a/b-c_d.e/']) {
    expect(await load({ ...complete, S3_PREFIX: prefix })).toMatchObject({ s3Prefix: prefix });
  }
});

test.each([
  [{ FILES_BACKEND: 's3' }, 'needs S3_BUCKET, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY'],
  [{ ...complete, S3_SECRET_ACCESS_KEY: undefined }, 'needs S3_SECRET_ACCESS_KEY.'],
  [{ ...complete, FILES_BACKEND: 'floppy' }, 'FILES_BACKEND is "floppy"'],
  [{ ...complete, S3_ENDPOINT: 'https://host/path' }, 'has more than scheme, host and port'],
  [{ ...complete, S3_ENDPOINT: 'http://10.0.0.1:9000', S3_PATH_STYLE: 'no' }, 'use path style'],
  [{ ...complete, S3_ENDPOINT: 'minio:9000' }, 'S3_ENDPOINT is "minio:9000"'],
  [{ ...complete, S3_BUCKET: 'my/bucket' }, 'is not a bucket’s name'],
  [{ ...complete, S3_REGION: 'eu central' }, 'S3_REGION is "eu central"'],
  [{ ...complete, S3_PREFIX: '/files' }, 'S3_PREFIX is "/files"'],
  [{ ...complete, S3_PREFIX: 'a/../b' }, 'S3_PREFIX is "a/../b"'],
  [
    { ...complete, MAX_UPLOAD_BYTES: '90000000000' },
    'MAX_UPLOAD_BYTES is 90000000000 and FILES_BACKEND is s3',
  ],
] as [Record<string, string>, string][])('%j is refused with a reason', async (env, words) => {
  const loading = load(env);
  await expect(loading).rejects.toMatchObject({ code: 'configuration_invalid' });
  await expect(loading).rejects.toThrow(words);
  await expect(loading).rejects.not.toThrow(/"secret"/);
});
