import pino from 'pino';
import { Registry } from 'prom-client';
import { Elections } from '../../../src/kernel/elections/elections.ts';
import { newId } from '../../../src/lib/ids.ts';
import type { Database } from '../../../src/lib/postgres/db.ts';

/** One process's part in the elections, not started. */
export function testElections(db: Database, registry = new Registry(), candidate = newId()): Elections {
  return new Elections({ db, registry, candidate, logger: pino({ level: 'silent' }) });
}
