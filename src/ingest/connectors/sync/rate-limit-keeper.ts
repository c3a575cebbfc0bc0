import type { Logger } from '../../../lib/log.ts';
import type { Database } from '../../../lib/postgres/db.ts';
import type { RateLimitSaid } from '../airbyte/types.ts';
import { saveRateLimit } from './rate-limit-store.ts';

const everyMs = 5_000;

/** Keeps what a service says about its rate limit for whoever looks at the status, which another process may serve. */
export class RateLimitKeeper {
  readonly #deps: { db: Database; logger: Logger };
  #keptAtMs = 0;

  constructor(deps: { db: Database; logger: Logger }) {
    this.#deps = deps;
  }

  /** Not with every response; a word that could not be kept is followed by another one. */
  async keep(
    dependency: string,
    said: RateLimitSaid | null,
    logFields: Record<string, string> = {},
  ): Promise<void> {
    if (said === null || said.at.getTime() - this.#keptAtMs < everyMs) return;
    this.#keptAtMs = said.at.getTime();
    const { db, logger } = this.#deps;
    await db
      .kernel((tx) => saveRateLimit(tx, dependency, said))
      .catch((error: unknown) =>
        logger.debug({ ...logFields, err: error, dependency }, 'its rate limit could not be kept'),
      );
  }
}
