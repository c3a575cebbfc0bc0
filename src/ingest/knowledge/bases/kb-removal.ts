import { removeFile } from '../../../kernel/files/service.ts';
import type { UpkeepTask } from '../../../kernel/upkeep/types.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { knowledgeErrors } from '../errors.ts';
import { removeKbContents } from '../index/removal.ts';
import { assertIdle, type KnowledgeServiceDeps } from '../service.ts';
import {
  deleteHiddenKb,
  deleteKbFile,
  hideKb,
  listHiddenKbs,
  listKbFiles,
  lockHiddenKb,
  lockKb,
} from '../store.ts';
import type { KbKey } from '../types.ts';

type KbRemovalDeps = Pick<KnowledgeServiceDeps, 'db' | 'files'>;

const filesPerTransaction = 500;
/** A small knowledge base is deleted within the request; upkeep deletes the rest of a large one. */
const requestMs = 1_000;
const upkeepMs = 10_000;
const kbsPerUpkeep = 100;

/** Hides it in the first transaction, so that no request finds it even if the rest fails. */
export async function removeKb(deps: KbRemovalDeps, key: KbKey): Promise<void> {
  await deps.db.tenant(key.tenantId, async (tx) => {
    if (!(await lockKb(tx, key))) {
      throw knowledgeErrors.raise.knowledge_base_not_found(`There is no knowledge base ${key.kbId}`);
    }
    await assertIdle(tx, key);
    await hideKb(tx, key);
  });
  await removeHidden(deps, key, performance.now() + requestMs);
}

/** Deletes what requests, and processes that died, have left. */
export function kbRemovalTask(deps: KbRemovalDeps): UpkeepTask {
  return {
    name: 'remove_knowledge_bases',
    everyMs: 5_000,
    run: async () => {
      const deadlineMs = performance.now() + upkeepMs;
      let removed = 0;
      const hidden = await deps.db.kernel((tx) => listHiddenKbs(tx, kbsPerUpkeep));
      for (const key of hidden) if (await removeHidden(deps, key, deadlineMs)) removed += 1;
      return { removed, left: hidden.length - removed };
    },
  };
}

/** In batches, because there may be millions of chunks. Returns whether everything is deleted. */
async function removeHidden(deps: KbRemovalDeps, key: KbKey, deadlineMs: number): Promise<boolean> {
  do {
    if (await deps.db.tenant(key.tenantId, (tx) => removeSome(deps, tx, key))) return true;
  } while (performance.now() < deadlineMs);
  return false;
}

/** Deletes the row of the knowledge base last. */
async function removeSome(deps: KbRemovalDeps, tx: Tx, key: KbKey): Promise<boolean> {
  if (!(await lockHiddenKb(tx, key))) return true;
  if (!(await removeKbContents(tx, key))) return false;
  if ((await removeSomeFiles(deps, tx, key)) === filesPerTransaction) return false;
  return deleteHiddenKb(tx, key);
}

async function removeSomeFiles({ files }: KbRemovalDeps, tx: Tx, key: KbKey): Promise<number> {
  const rows = await listKbFiles(tx, { ...key, afterName: null, limit: filesPerTransaction });
  for (const { name, fileId } of rows) {
    await deleteKbFile(tx, { ...key, name });
    await removeFile(tx, { tenantId: key.tenantId, fileId, files });
  }
  return rows.length;
}
