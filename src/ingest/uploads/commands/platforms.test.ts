import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test, vi } from 'vitest';
import { useCommandLine } from '../../../../test/support/servers/command-line.ts';
import { testTokens } from '../../../../test/support/servers/server.ts';
import { useUploads } from '../../../../test/support/servers/upload-server.ts';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import { mintToken } from '../../../kernel/tenancy/tokens.ts';

vi.setConfig({ testTimeout: 90_000 });

const sluice = useCommandLine();
const uploads = useUploads(useDatabase());

test('a platform is defined, listed, used and deleted from the command line', async () => {
  const { tenantId, workspaceId } = await uploads.desk();
  const claims = { tenantId, userId: 'a-user', role: 'admin', lifetimeSeconds: 600 } as const;
  const env = { SLUICE_URL: uploads.server.url, SLUICE_TOKEN: await mintToken(testTokens, claims) };
  const platforms = (...args: string[]) => sluice.runHere(['uploads', 'platforms', ...args], env);
  const profile = { aliases: { metric_date: 'Aired', campaign_name: 'Spot', spend: 'Paid' } };
  await writeFile(path.join(sluice.cwd, 'radio.json'), JSON.stringify(profile));
  const saved = await platforms('set', 'radio', '@radio.json');
  expect(saved).toMatchObject({ code: 0, stderr: expect.stringMatching(/radio, version 1/) });
  expect((await platforms('list')).stdout).toMatch(/meta .*built in[\s\S]*radio .*version 1/);
  await writeFile(path.join(sluice.cwd, 'radio.csv'), 'Spot,Aired,Paid\nJingle,2026-03-01,5\n');
  const send = ['upload', 'radio.csv', '--platform', 'radio', '--workspace', workspaceId, '--no-wait'];
  const sent = await sluice.runHere(send, env);
  expect(sent.code).toBe(0);
  await uploads.drive(tenantId);
  const upload = await uploads.get({ tenantId, role: 'admin' }, sent.stdout.trim());
  expect(upload).toMatchObject({ status: 'completed', platform: 'radio' });
  const shown = JSON.parse((await platforms('show', 'radio')).stdout) as object;
  expect(shown).toMatchObject({ title: 'radio', aliases: { any: { spend: ['Paid'] } } });
  // What is shown can be set again, and is no new version then.
  const again = await platforms('set', 'radio', JSON.stringify(shown), '--json');
  expect(JSON.parse(again.stdout)).toMatchObject({ version: 1 });
  expect(await platforms('delete', 'radio')).toMatchObject({ code: 0 });
  expect(await platforms('show', 'radio')).toMatchObject({ code: 1 });
  expect(await platforms('set', 'Radio!', '{}')).toMatchObject({ code: 2 });
  expect(await platforms('set', 'meta', JSON.stringify(profile))).toMatchObject({ code: 1 });
});
