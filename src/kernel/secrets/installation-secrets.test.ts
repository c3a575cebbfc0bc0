import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadJwtSecret, loadSecretKeys } from './installation-secrets.ts';
import { decryptSecret, encryptSecret } from './stored-secrets.ts';

let parent = '';
let dataDir = '';

beforeEach(async () => {
  parent = await mkdtemp(path.join(tmpdir(), 'sluice-secrets-'));
  dataDir = path.join(parent, 'data');
});

afterEach(async () => {
  await rm(parent, { recursive: true, force: true });
});

test('twenty first starts at once agree on one secret and leave nothing else behind', async () => {
  const secrets = await Promise.all(
    Array.from({ length: 20 }, () => loadJwtSecret({ configured: null, dataDir })),
  );
  expect(new Set(secrets).size).toBe(1);
  expect(secrets[0]).toMatch(/^[\w-]{43}$/);
  expect(await readdir(dataDir)).toEqual(['jwt.secret']);
  expect(await loadJwtSecret({ configured: null, dataDir })).toBe(secrets[0]);
});

test('starts that come one shortly after the other agree too, however they interleave', async () => {
  for (let round = 0; round < 5; round += 1) {
    const roundDir = path.join(parent, `round-${round}`);
    const secrets = await Promise.all(
      Array.from({ length: 30 }, async (_, index) => {
        // Each start is one file system call later than the one before, so that reads fall between writes.
        for (let step = 0; step < index; step += 1) await stat(parent);
        return loadJwtSecret({ configured: null, dataDir: roundDir });
      }),
    );
    expect(new Set(secrets).size).toBe(1);
  }
});

test('only the owner may read the secret', async () => {
  await loadJwtSecret({ configured: null, dataDir });
  expect((await stat(path.join(dataDir, 'jwt.secret'))).mode & 0o777).toBe(0o600);
});

test('a configured secret is used as it is, and nothing is written', async () => {
  expect(await loadJwtSecret({ configured: 'mine', dataDir })).toBe('mine');
  await expect(stat(dataDir)).rejects.toThrow('ENOENT');
});

test('a damaged secret file stops the start instead of being replaced', async () => {
  await loadJwtSecret({ configured: null, dataDir });
  await writeFile(path.join(dataDir, 'jwt.secret'), 'half');
  await expect(loadJwtSecret({ configured: null, dataDir })).rejects.toMatchObject({
    code: 'secret_file_unusable',
  });
});

test('the key for stored secrets is made once too', async () => {
  const [first, second] = await Promise.all([
    loadSecretKeys({ configured: null, dataDir }),
    loadSecretKeys({ configured: null, dataDir }),
  ]);
  const stored = encryptSecret(first, { secret: 'x', place: 'p' });
  expect(decryptSecret(second, { stored, place: 'p' })).toBe('x');
});
