import type { Sql } from '../../lib/postgres/sql.ts';
import type { Action } from '../tenancy/rights.ts';

/** Who looks. Members see of owned things only their own. */
export interface Finder {
  tenantId: string;
  ownerId?: string | undefined;
}

/** One thing that was found by its name or its id. */
export interface Found {
  kind: string;
  id: string;
  name: string;
  /** Its page in the console. */
  url: string;
}

export interface NamedRow {
  id: string;
  name: string;
  /** The id of what it is part of, where its page is there. */
  within: string | null;
}

/** Things of one kind that people look for by name, or by an id that they paste. */
export interface Findable {
  /** As the API calls it: `upload`, `knowledge_base`. */
  kind: string;
  /** Whoever lacks this right finds none. */
  action: Action;
  /** Its page in the console. */
  url(row: NamedRow): string;
  /**
   * Rows with `id`, `name`, `more` (what else they are found by) and `within`, at most `limit`; the newest ones where
   * an index has that order.
   */
  newest(finder: Finder, limit: number): Sql;
  /** The same for one UUID, however old; absent where ids are names. */
  one?(finder: Finder, id: string): Sql;
}
