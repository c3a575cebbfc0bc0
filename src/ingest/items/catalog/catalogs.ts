import type { Database } from '../../../lib/postgres/db.ts';
import { type Lookup, lookUp } from './matching.ts';
import { assertStrategies, getCatalog } from './service.ts';
import type { Catalog, Match, Strategy } from './types.ts';

/** The catalogues of one tenant, as processors see them. */
export interface Catalogs {
  /** Refuses a name that there is not. */
  get(name: string): Promise<Catalog>;
  /** Refuses strategies that the database cannot serve. */
  assertStrategies(used: readonly Strategy[]): Promise<void>;
  /** One answer for each question, in order. */
  lookUp(catalog: Catalog, lookup: Lookup): Promise<Match[]>;
}

export function catalogsOf(db: Database, tenantId: string): Catalogs {
  return {
    get: (name) => getCatalog(db, { tenantId, name }),
    assertStrategies: (used) => assertStrategies(db, { tenantId, used }),
    lookUp: (catalog, lookup) => lookUp(db, catalog, lookup),
  };
}
