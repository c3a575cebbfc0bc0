import { beforeAll, expect } from 'vitest';
import type { useUploads } from '../servers/upload-server.ts';
import type { TestDatabase } from './database.ts';

export interface IntakeCaller {
  tenantId: string;
  workspaceId: string;
}

/** A caller for one test file, and everything that intake writes for it, counted in the database directly. */
export function useIntake(database: TestDatabase, servers: readonly ReturnType<typeof useUploads>[]) {
  let caller: IntakeCaller | undefined;
  beforeAll(async () => {
    caller = await servers[0]?.tenant();
  });
  const own = (): IntakeCaller => {
    if (!caller) throw new Error('The caller is available only after beforeAll has run');
    return caller;
  };
  const left = async () => {
    const [counts] = await database.owner<object>(
      `select (select count(*) from data_uploads where tenant_id = $1) as uploads,
              (select count(*) from ingestion_jobs where tenant_id = $1) as jobs,
              (select count(*) from files where tenant_id = $1) as files,
              (select count(*) from events where tenant_id = $1) as events`,
      [own().tenantId],
    );
    return { ...counts, stored: servers.flatMap((server) => server.storedFiles()).sort() };
  };
  return {
    left,
    get workspaceId() {
      return own().workspaceId;
    },
    get tenantId() {
      return own().tenantId;
    },
    admin: () => ({ tenantId: own().tenantId, role: 'admin' as const }),
    /** Restores everything afterwards, whatever the work does. */
    async leavingNothing<T>(work: () => Promise<T>): Promise<T> {
      const before = await left();
      const result = await work();
      expect(await left()).toEqual(before);
      return result;
    },
  };
}

export interface Refusal {
  status: number;
  code: string;
  /** Which field is wrong. */
  pointer?: string;
  /** What is wrong with it and what is allowed. */
  says: RegExp;
}

export function expectRefusal(
  { status, body }: { status: number; body: Record<string, unknown> },
  refusal: Refusal,
): void {
  expect({ status, code: body.code }).toEqual({ status: refusal.status, code: refusal.code });
  const { pointer, says } = refusal;
  if (pointer === undefined) expect(body.detail).toMatch(says);
  else expect(body.errors).toEqual([{ pointer, message: expect.stringMatching(says) }]);
}
