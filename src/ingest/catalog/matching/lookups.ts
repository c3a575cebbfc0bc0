import type { Database } from '../../../lib/postgres/db.ts';
import { createTurns } from '../../../lib/timing/event-loop-turns.ts';
import { assertStrategies, getCatalog } from '../service.ts';
import type { Match, Question, Strategy } from '../types.ts';
import { lookUp } from './matching.ts';
import { type CatalogOptions, catalogOptions } from './options.ts';
import { readQuestion } from './product-fields.ts';

type Row = Readonly<Record<string, unknown>>;

/** Catalogues as the processor `catalog` of items sees them. */
export function catalogLookups(db: Database) {
  return {
    options: catalogOptions,
    /** The version that is in use now. Throws when there is no such catalogue. */
    async open(tenantId: string, name: string) {
      const catalog = await getCatalog(db, { tenantId, name });
      return {
        name,
        version: catalog.version,
        /** What a strategy finds for each row, in order. */
        async lookUp(
          rows: readonly { input: Row; normalized: Row }[],
          { strategy, options }: { strategy: Strategy; options: CatalogOptions },
        ): Promise<Match[]> {
          const takeTurn = createTurns();
          const questions: Question[] = [];
          // Rows are parsed when they are first read, and may be long.
          for (const row of rows) {
            questions.push(readQuestion(row.input, options.fields, row.normalized));
            await takeTurn();
          }
          return lookUp(db, catalog, { strategy, questions, settings: options });
        },
      };
    },
    /** Throws for strategies that the database cannot serve. */
    assertStrategies: (tenantId: string, used: readonly Strategy[]) =>
      assertStrategies(db, { tenantId, used }),
  };
}
