import type { Tx } from '../../lib/postgres/db.ts';

/** Who may do what is in rights.ts; these are the nouns. */
export const roles = ['member', 'admin', 'support', 'service', 'operator'] as const;
export type Role = (typeof roles)[number];

export const plans = ['free', 'growth', 'enterprise'] as const;
export type Plan = (typeof plans)[number];

/** Who an authenticated request acts for. */
export interface Principal {
  tenantId: string;
  /** The token's `sub`; for an API key `api_key:` and the key's id, which no token may claim. */
  userId: string;
  role: Role;
  via: 'token' | 'api_key' | 'session';
  name?: string;
  email?: string;
  /** The token's groups: documents that name groups are shown to their members. */
  groups?: readonly string[];
  /** When the role was issued, for principals that come with a token. A newer role wins over it. */
  issuedAtMs?: number;
}

export const apiKeyUserPrefix = 'api_key:';

export interface Tenant {
  tenantId: string;
  name: string;
  plan: Plan;
  limits: Record<string, number>;
  createdAt: Date;
  updatedAt: Date;
}

export interface Workspace {
  workspaceId: string;
  name: string;
  createdAt: Date;
  updatedAt: Date;
}

export interface User {
  userId: string;
  role: Role;
  name: string | null;
  email: string | null;
  disabledAt: Date | null;
  /** Set by the first verified operator token. Only an operator can change this user or clear it. */
  operatorSince: Date | null;
  /** Set while an invited person has not come yet. */
  invitedAt: Date | null;
  createdAt: Date;
  lastSeenAt: Date;
}

export interface ApiKey {
  keyId: string;
  name: string;
  role: Role;
  /** The first characters, so that people recognise a key in a list. */
  keyHint: string;
  /** A user, or `api_key:` and the id of another key. */
  createdBy: string;
  /** The user at the beginning of that chain. */
  userId: string;
  userDisabledAt: Date | null;
  /** An operator is behind the key, or it has that role. */
  operatorOnly: boolean;
  createdAt: Date;
  expiresAt: Date | null;
  lastUsedAt: Date | null;
  revokedAt: Date | null;
}

/** A page of a keyset list, read forward from `after`. */
export interface PageRequest {
  limit: number;
  after: string | null;
}

/** Runs inside the transaction of the change, so that a stored response commits together with its effect. */
export type BeforeCommit<Result> = (tx: Tx, result: Result) => Promise<void>;

export function isRole(text: string): text is Role {
  return (roles as readonly string[]).includes(text);
}

export const idMaxLength = 200;

/**
 * Tenant and user ids come from tokens. NUL cannot be stored, control characters forge log lines, and a lone
 * surrogate would be stored as U+FFFD, so that two different tenants became one.
 */
export function isUsableId(text: string): boolean {
  return text.length > 0 && [...text].length <= idMaxLength && !/[\p{Cc}\p{Cs}]/u.test(text);
}

/**
 * Whether a new tenant may have this id. People tell tenants apart by what they see, so nothing invisible may make two
 * of them: spaces at the ends, other spaces than the usual one, format and bidi characters, letters not composed.
 */
export function isPlainId(text: string): boolean {
  const isComposed = text === text.normalize('NFC') && text === text.trim();
  return isUsableId(text) && isComposed && !/[\p{Cf}\p{Zl}\p{Zp}\p{DI}]|(?! )\p{Zs}/u.test(text);
}

/** Completes "must be …". */
export const plainIdRule =
  `1 to ${idMaxLength} characters without control, format or bidi characters, without spaces at its ends and in ` +
  'Unicode form NFC';

/**
 * What a principal may see of its tenant. A document with an access list is shown to a member only if one of their
 * groups is on it. The other roles see all: they feed or run the tenant, and errors and checkpoints name documents.
 */
export function viewOf({ tenantId, role, groups = [] }: Principal): {
  tenantId: string;
  groups?: readonly string[];
} {
  return role === 'member' ? { tenantId, groups } : { tenantId };
}

/** The user id that limits what a member sees; undefined for everybody else, who sees the whole tenant. */
export function ownerFilter(principal: Principal): string | undefined {
  return principal.role === 'member' ? principal.userId : undefined;
}
