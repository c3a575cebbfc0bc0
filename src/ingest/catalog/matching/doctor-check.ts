import type pg from 'pg';
import { ok, type Verdict, warn } from '../../../kernel/house/verdict.ts';
import { findTrigrams } from './title-index-store.ts';

/** Everything but the strategy fuzzy_title works without. */
export async function checkTitleSearch(client: pg.Client): Promise<Verdict> {
  const query = async <Row extends object>(text: string) => (await client.query<Row>(text)).rows;
  const { isInstalled, isAvailable, hasIndex, hasFunction } = await findTrigrams({ query });
  if (isInstalled && hasIndex && hasFunction) return ok('Titles of catalogues can be compared by likeness');
  if (isInstalled) {
    return warn(
      'pg_trgm is there, but the index of titles is not, so jobs with the strategy fuzzy_title are refused',
      'Run `sluice migrate up` with the owner’s DATABASE_URL.',
    );
  }
  return warn(
    'The database does not have the extension pg_trgm, so jobs with the strategy fuzzy_title are refused',
    isAvailable
      ? 'Run `create extension pg_trgm` as a role that may, then `sluice migrate up`.'
      : 'Install PostgreSQL’s contrib package on the server, then run `sluice migrate up`.',
  );
}
