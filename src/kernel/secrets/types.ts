import type { Principal, Role } from '../tenancy/types.ts';
import type { LentSecret } from './lent-secret.ts';

/** A stored secret, without its value. */
export interface SecretRecord {
  name: string;
  /** Where it may be sent: `host`, or `host:port`. Empty: it was stored before hosts were asked for, so nowhere. */
  hosts: string[];
  /** Who may use it beside those who may use every secret. */
  roles: Role[];
  /** What may use it; null: everything. */
  uses: string[] | null;
  updatedBy: string;
  updatedAt: Date;
}

/** What a secret is used by: `processor:http`, `embedder:openai`, `adapter:s3`, `connector:airbyte`. */
export type SecretUse =
  `${'processor' | 'embedder' | 'reranker' | 'source' | 'adapter' | 'connector'}:${string}`;

/** Work that wants a secret. It acts with the role of whoever created it. */
export interface SecretUser {
  tenantId: string;
  role: Role;
  use: SecretUse;
}

/** A secret that somebody names, and every address that it would be sent to. */
export interface WantedSecret {
  name: string;
  urls: readonly string[];
  /** Where the request names it. */
  pointer: string;
  /** If it is not what the work as a whole is: a step of it. */
  use?: SecretUse;
}

/** How houses come by secrets. */
export interface SecretLender {
  /** When work is created or changed: throws if it may not use the secret, or not send it where it wants to. */
  assertUsable(user: SecretUser, wanted: WantedSecret): Promise<void>;
  /** When work runs. Its errors do not name the secret: more people read them than may use it. */
  lend(user: SecretUser, name: string): Promise<LentSecret>;
  /** Returns which names a person may see. */
  visibleTo(person: Pick<Principal, 'tenantId' | 'role'>): Promise<SeesName>;
}

export type SeesName = (name: string) => boolean;
