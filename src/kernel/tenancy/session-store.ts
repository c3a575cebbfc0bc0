import type { Tx } from '../../lib/postgres/db.ts';
import { sql } from '../../lib/postgres/sql.ts';
import type { Role } from './types.ts';

/** Whom a login link or session stands for. */
export interface SessionSubject {
  tenantId: string;
  userId: string;
  role: Role;
  /** Of the token that it was started with. */
  groups?: readonly string[] | undefined;
}

export async function insertLoginLink(
  tx: Tx,
  link: SessionSubject & { codeHash: Buffer; lifetimeSeconds: number },
): Promise<Date> {
  const row = await tx.find<{ expiresAt: Date }>(sql`
    insert into login_links (tenant_id, code_hash, user_id, role, expires_at)
    values (${link.tenantId}, ${link.codeHash}, ${link.userId}, ${link.role},
            clock_timestamp() + make_interval(secs => ${link.lifetimeSeconds}))
    returning expires_at as "expiresAt"`);
  if (row === null) throw new Error('The login link was not stored');
  return row.expiresAt;
}

/** One guarded update: of any number of simultaneous uses one gets the row. */
export function useLoginLink(
  tx: Tx,
  codeHash: Buffer,
): Promise<(SessionSubject & { issuedAt: Date }) | null> {
  return tx.find<SessionSubject & { issuedAt: Date }>(sql`
    update login_links
       set used_at = clock_timestamp()
     where code_hash = ${codeHash}
       and used_at is null
       and expires_at > clock_timestamp()
    returning tenant_id as "tenantId", user_id as "userId", role, created_at as "issuedAt"`);
}

export async function insertSession(
  tx: Tx,
  session: SessionSubject & {
    issuedAt: Date | null;
    sessionHash: Buffer;
    lifetimeSeconds: number;
    agent: string | null;
  },
): Promise<void> {
  await tx.run(sql`
    insert into sessions (tenant_id, session_hash, user_id, role, groups, agent, role_issued_at, expires_at)
    values (${session.tenantId}, ${session.sessionHash}, ${session.userId}, ${session.role},
            ${session.groups ?? []}::text[], ${session.agent},
            coalesce(${session.issuedAt}::timestamptz, clock_timestamp()),
            clock_timestamp() + make_interval(secs => ${session.lifetimeSeconds}))`);
}

export interface FoundSession extends SessionSubject {
  groups: string[];
  userDisabledAt: Date | null;
}

/** The role is the user's newest one: the session's own, or one that was issued later. */
export function findSession(tx: Tx, sessionHash: Buffer): Promise<FoundSession | null> {
  return tx.find<FoundSession>(sql`
    select s.tenant_id as "tenantId",
           s.user_id as "userId",
           case
             when u.role_issued_at > s.role_issued_at
               or (u.role_issued_at = s.role_issued_at and u.role_since > s.created_at)
             then u.role
             else s.role
           end as role,
           s.groups,
           u.disabled_at as "userDisabledAt"
      from sessions s
      left join users u on u.tenant_id = s.tenant_id and u.user_id = s.user_id
     where s.session_hash = ${sessionHash}
       and s.expires_at > clock_timestamp()`);
}

export interface OwnSession {
  sessionId: string;
  createdAt: Date;
  expiresAt: Date;
  /** What the browser or program called itself. */
  agent: string | null;
  isCurrent: boolean;
}

interface UserKey {
  tenantId: string;
  userId: string;
}

/** Newest first. */
export function listSessionsOf(
  tx: Tx,
  { tenantId, userId, currentHash, limit }: UserKey & { currentHash: Buffer | null; limit: number },
): Promise<OwnSession[]> {
  return tx.rows<OwnSession>(sql`
    select s.session_id as "sessionId", s.created_at as "createdAt", s.expires_at as "expiresAt", s.agent,
           coalesce(s.session_hash = ${currentHash}, false) as "isCurrent"
      from sessions s
     where s.tenant_id = ${tenantId}
       and s.user_id = ${userId}
       and s.expires_at > clock_timestamp()
     order by s.created_at desc, s.session_id
     limit ${limit}`);
}

/** How many there were: one, or none. */
export function deleteSessionOf(
  tx: Tx,
  { tenantId, userId, sessionId }: UserKey & { sessionId: string },
): Promise<number> {
  return tx.run(sql`
    delete from sessions
     where tenant_id = ${tenantId}
       and user_id = ${userId}
       and session_id = ${sessionId}`);
}

export function deleteOtherSessions(
  tx: Tx,
  { tenantId, userId, currentHash }: UserKey & { currentHash: Buffer | null },
): Promise<number> {
  return tx.run(sql`
    delete from sessions
     where tenant_id = ${tenantId}
       and user_id = ${userId}
       and (${currentHash}::bytea is null or session_hash <> ${currentHash})`);
}

export async function deleteSession(tx: Tx, sessionHash: Buffer): Promise<void> {
  await tx.run(sql`delete from sessions where session_hash = ${sessionHash}`);
}

export async function deleteSessionsOf(tx: Tx, { tenantId, userId }: UserKey): Promise<void> {
  await tx.run(sql`delete from sessions where tenant_id = ${tenantId} and user_id = ${userId}`);
}

/** Every new login removes a batch of ended links and sessions, so the tables stay small. */
export async function deleteEnded(tx: Tx, limit: number): Promise<void> {
  await tx.run(sql`
    delete from login_links
     where ctid = any(array(
       select ctid from login_links where expires_at < clock_timestamp() order by ctid limit ${limit}))`);
  await tx.run(sql`
    delete from sessions
     where ctid = any(array(
       select ctid from sessions where expires_at < clock_timestamp() order by ctid limit ${limit}))`);
}
