export interface ServerKey {
  tenantId: string;
  server: string;
}

export const serverAuths = ['token', 'client', 'basic'] as const;
export type ServerAuth = (typeof serverAuths)[number];

/** An Airbyte of a tenant's own, beside the one of the installation. */
export interface AirbyteServer extends ServerKey {
  baseUrl: string;
  auth: ServerAuth;
  /** The client's id or the user's name; null with a token. */
  identity: string | null;
  /** The stored secret with the token, the client's secret or the password. */
  secretName: string;
  workspaceId: string | null;
  createdBy: string;
  createdAt: Date;
  updatedAt: Date;
}

export type NewServer = Omit<AirbyteServer, 'createdAt' | 'updatedAt'>;

export const secretUse = 'connector:airbyte';
