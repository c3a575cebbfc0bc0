import { copyFile, mkdtemp, readFile, rm, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readAsset } from './local-assets.ts';
import { localModels } from './local-models.ts';

const released = path.join(import.meta.dirname, '../../../../assets/embedder');

async function scratchDirectory(): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), 'sluice-assets-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

describe('the files of the local embedder', () => {
  test('have the checksums in their README', async () => {
    const readme = await readFile(path.join(released, 'README.md'), 'utf8');
    const lengths = { 'all-minilm-l6-v2-q8': 30_523, 'use-lite-en-q7': 8_001 };
    for (const { name, files } of Object.values(localModels)) {
      for (const { file, sha256 } of Object.values(files)) {
        expect(readme, `run node scripts/build-embedder.mjs (${file})`).toContain(`| \`${sha256}\` |`);
      }
      expect((await readAsset(files.model)).length).toBeGreaterThan(10_000_000);
      const lines = (await readAsset(files.vocabulary)).toString('utf8').split('\n');
      expect(lines).toHaveLength(lengths[name]);
    }
  });

  test('are refused if they are missing or truncated', async () => {
    const directory = await scratchDirectory();
    const { vocabulary } = localModels['all-minilm-l6-v2-q8'].files;
    await expect(readAsset(vocabulary, directory)).rejects.toMatchObject({
      code: 'embedder_unavailable',
      message: expect.stringContaining('ENOENT'),
    });
    const { file } = vocabulary;
    await copyFile(path.join(released, file), path.join(directory, file));
    await truncate(path.join(directory, file), 1_000);
    await expect(readAsset(vocabulary, directory)).rejects.toMatchObject({
      code: 'embedder_unavailable',
      kind: 'bug',
      message: expect.stringContaining('checksum'),
    });
  });
});
