import { createHash } from 'node:crypto';
import { newSecret } from '../../lib/ids.ts';
import type { Database, Tx } from '../../lib/postgres/db.ts';
import { findUsableApiKeyById } from './api-key-store.ts';
import { roleOfKey } from './api-keys.ts';
import { tenancyErrors, userDisabled } from './errors.ts';
import { acceptInvitation } from './people-store.ts';
import {
  deleteEnded,
  deleteOtherSessions,
  deleteSession,
  deleteSessionOf,
  type FoundSession,
  findSession,
  insertLoginLink,
  insertSession,
  listSessionsOf,
  type OwnSession,
  type SessionSubject,
  useLoginLink,
} from './session-store.ts';
import { apiKeyUserPrefix, type Principal } from './types.ts';

export const sessionLifetimeSeconds = 12 * 3600;
const linkLifetimeSeconds = 30 * 60;
const endedBatch = 100;
const secretShape = /^[A-Za-z0-9_-]{43}$/;

/** The code of a link that logs its holder in once. The tenant must exist. */
export async function createLoginLink(db: Database, subject: SessionSubject): Promise<string> {
  return (await db.kernel((tx) => insertNewLink(tx, subject, linkLifetimeSeconds))).code;
}

export async function insertNewLink(
  tx: Tx,
  subject: SessionSubject,
  lifetimeSeconds: number,
): Promise<{ code: string; expiresAt: Date }> {
  const code = newSecret();
  const expiresAt = await insertLoginLink(tx, { ...subject, codeHash: hashOf(code), lifetimeSeconds });
  return { code, expiresAt };
}

/** Starts a session for a user who is authenticated already. Returns the value of the session cookie. */
export async function startSessionFor(
  db: Database,
  { tenantId, userId, role, groups, issuedAtMs }: SessionSubject & Pick<Principal, 'issuedAtMs'>,
  { lifetimeSeconds, agent }: { lifetimeSeconds: number; agent?: string | undefined },
): Promise<string> {
  const session = newSecret();
  const issuedAt = issuedAtMs === undefined ? null : new Date(issuedAtMs);
  await db.kernel(async (tx) => {
    const sessionHash = hashOf(session);
    await insertSession(tx, {
      ...{ tenantId, userId, role, groups, issuedAt, sessionHash, lifetimeSeconds },
      agent: agentText(agent),
    });
    await deleteEnded(tx, endedBatch);
  });
  return session;
}

/** Uses the link up and returns the value of the session cookie. */
export async function startSession(db: Database, code: string, agent?: string): Promise<string> {
  const session = newSecret();
  const subject = secretShape.test(code)
    ? await db.kernel(async (tx) => {
        const found = await useLoginLink(tx, hashOf(code));
        if (!found) return null;
        await insertSession(tx, {
          ...found,
          sessionHash: hashOf(session),
          lifetimeSeconds: sessionLifetimeSeconds,
          agent: agentText(agent),
        });
        await acceptInvitation(tx, found);
        await deleteEnded(tx, endedBatch);
        return found;
      })
    : null;
  if (subject) return session;
  throw tenancyErrors.raise.login_link_refused('The login link is unknown, was used before, or is too old');
}

/** Checks the user and the key behind the session every time: what they lose, it loses at once. */
export async function findSessionPrincipal(db: Database, session: string): Promise<Principal> {
  const found = secretShape.test(session)
    ? await db.kernel(async (tx) => {
        const subject = await findSession(tx, hashOf(session));
        return subject?.userId.startsWith(apiKeyUserPrefix) ? withRoleOfKey(tx, subject) : subject;
      })
    : null;
  if (!found) throw tenancyErrors.raise.invalid_session('The session is unknown or has ended');
  const { userDisabledAt, groups, ...subject } = found;
  if (userDisabledAt !== null) throw userDisabled(subject.userId, userDisabledAt);
  return { ...subject, ...(groups.length > 0 ? { groups } : {}), via: 'session' };
}

/** A session that was started with an API key ends with the key. */
async function withRoleOfKey(tx: Tx, subject: FoundSession): Promise<FoundSession | null> {
  const keyId = subject.userId.slice(apiKeyUserPrefix.length);
  const key = await findUsableApiKeyById(tx, { tenantId: subject.tenantId, keyId });
  return key && { ...subject, role: roleOfKey(key) };
}

export async function endSession(db: Database, session: string): Promise<void> {
  await db.kernel((tx) => deleteSession(tx, hashOf(session)));
}

/** Whose sessions, and the one that asks, which is null for a token or an API key. */
export interface SessionOwner {
  tenantId: string;
  userId: string;
  current: string | null;
}

const mostListed = 500;

export function listOwnSessions(db: Database, { current, ...user }: SessionOwner): Promise<OwnSession[]> {
  return db.kernel((tx) =>
    listSessionsOf(tx, {
      ...user,
      currentHash: current === null ? null : hashOf(current),
      limit: mostListed,
    }),
  );
}

export async function endOwnSession(
  db: Database,
  session: { tenantId: string; userId: string; sessionId: string },
): Promise<void> {
  const ended = await db.kernel((tx) => deleteSessionOf(tx, session));
  if (ended === 0) {
    throw tenancyErrors.raise.session_not_found(`You have no open session ${session.sessionId}`);
  }
}

/** All but the one that asks. */
export function endOtherSessions(db: Database, { current, ...user }: SessionOwner): Promise<number> {
  return db.kernel((tx) =>
    deleteOtherSessions(tx, { ...user, currentHash: current === null ? null : hashOf(current) }),
  );
}

const longestAgent = 300;

/** Only to be recognised by its owner; control characters would not be stored or shown. */
function agentText(agent: string | undefined): string | null {
  const text = agent?.replaceAll(/\p{C}/gu, '').trim().slice(0, longestAgent) ?? '';
  return text === '' ? null : text;
}

function hashOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
