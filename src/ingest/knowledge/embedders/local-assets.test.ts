import { copyFile, mkdtemp, readFile, rm, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { localAssets, readAsset } from './local-assets.ts';

const released = path.join(import.meta.dirname, '../../../../assets/embedder');

async function scratchDirectory(): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), 'sluice-assets-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

describe('the files of the local embedder', () => {
  test('have the checksums in their README', async () => {
    const readme = await readFile(path.join(released, 'README.md'), 'utf8');
    for (const { file, sha256 } of Object.values(localAssets)) {
      expect(readme, `run node scripts/build-embedder.mjs (${file})`).toContain(`| \`${sha256}\` |`);
    }
    expect((await readAsset('model')).length).toBeGreaterThan(10_000_000);
    expect((await readAsset('vocabulary')).toString('utf8').split('\n')).toHaveLength(8_001);
  });

  test('are refused if they are missing or truncated', async () => {
    const directory = await scratchDirectory();
    await expect(readAsset('vocabulary', directory)).rejects.toMatchObject({
      code: 'embedder_unavailable',
      message: expect.stringContaining('ENOENT'),
    });
    const { file } = localAssets.vocabulary;
    await copyFile(path.join(released, file), path.join(directory, file));
    await truncate(path.join(directory, file), 1_000);
    await expect(readAsset('vocabulary', directory)).rejects.toMatchObject({
      code: 'embedder_unavailable',
      kind: 'bug',
      message: expect.stringContaining('checksum'),
    });
  });
});
