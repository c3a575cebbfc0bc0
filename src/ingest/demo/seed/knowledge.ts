import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { packageDir } from '../../../lib/package-dir.ts';
import type { DemoGround } from '../types.ts';

const kbId = 'sluice-docs';
/** All of them together are more than a minute of embedding. */
const maxPages = 8;

/** A knowledge base over Sluice’s own pages, and one for what the crawl hands over. */
export async function fillBases({ call }: DemoGround): Promise<void> {
  const allow = [409];
  const base = { kb_id: kbId, name: 'Sluice, as its pages explain it' };
  await call({ method: 'POST', path: '/api/knowledge', body: base, allow });
  await call({ method: 'POST', path: `/api/knowledge/${kbId}/documents`, body: await pagesForm(), allow });
  await call({ method: 'POST', path: `/api/ingestion/jobs/${kbId}/start`, body: {}, allow });
}

async function pagesForm(): Promise<FormData> {
  const folder = path.join(packageDir, 'docs');
  const names = (await readdir(folder)).filter((name) => name.endsWith('.md') && !isGenerated(name));
  const form = new FormData();
  for (const name of names.toSorted().slice(0, maxPages)) {
    form.append('file', new Blob([await readFile(path.join(folder, name), 'utf8')]), name);
  }
  return form;
}

/** Long tables, of which a search finds little. */
function isGenerated(name: string): boolean {
  return ['configuration.md', 'errors.md', 'roles.md', 'state-machines.md'].includes(name);
}
