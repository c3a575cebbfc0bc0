import type { Database } from '../../lib/postgres/db.ts';
import type { Clock } from '../../lib/timing/clock.ts';
import { createAdmissions } from './provisioning.ts';
import type { SessionSubject } from './session-store.ts';
import { createLoginLink } from './sessions.ts';

/** Who starts Sluice, or can reach its database, may act as this user. */
export const installationOperator = {
  tenantId: 'default',
  userId: 'operator',
  role: 'operator',
} as const satisfies SessionSubject;

/**
 * A link that logs its holder in once, within 30 minutes. Creates the tenant and the user if they are new, and refuses
 * disabled users and erased tenants. Like a token, it states the user's role as of now.
 */
export async function createLoginUrl(
  { db, clock }: { db: Database; clock: Clock },
  { url, subject }: { url: string; subject: SessionSubject },
): Promise<string> {
  const admissions = createAdmissions(db, clock);
  await admissions.admit({ ...subject, via: 'session', issuedAtMs: clock.nowMs() });
  return `${url}/login?code=${await createLoginLink(db, subject)}`;
}
