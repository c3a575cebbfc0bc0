import { messageOf } from '../errors.ts';
import { withOwner } from './client.ts';
import { quoteIdentifier } from './sql.ts';

/** A login that may change the schema, as far as preparations of extensions need one. */
export interface OwnerSession {
  query<Row extends object>(text: string): Promise<Row[]>;
}

export function withOwnerSession<T>(
  ownerUrl: string,
  work: (session: OwnerSession) => Promise<T>,
): Promise<T> {
  return withOwner(ownerUrl, (client) =>
    work({ query: async <Row extends object>(text: string) => (await client.query<Row>(text)).rows }),
  );
}

/** Returns null when the extension exists now, otherwise the server's reason why its owner may not have it. */
export async function tryCreateExtension(session: OwnerSession, name: string): Promise<string | null> {
  try {
    await session.query(`create extension if not exists ${quoteIdentifier(name)}`);
    return null;
  } catch (error) {
    const { code } = error as { code?: unknown };
    // Without a code it was not the server that said no, but the connection that broke.
    if (typeof code !== 'string' || !/^[0-9A-Z]{5}$/.test(code)) throw error;
    // Two that create it at once meet at its name: the other one has.
    return code === '23505' || code === '42710' ? null : messageOf(error);
  }
}

/** Does all of the work or nothing, one process at a time. `lock`: any number that is not used elsewhere. */
export async function prepareAlone(
  session: OwnerSession,
  lock: number,
  work: () => Promise<void>,
): Promise<void> {
  await session.query('begin');
  try {
    await session.query(`select pg_advisory_xact_lock(${lock})`);
    await work();
    await session.query('commit');
  } catch (error) {
    await session.query('rollback');
    throw error;
  }
}
