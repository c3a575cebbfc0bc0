import { type Role, roles } from './types.ts';

interface Right {
  roles: readonly Role[];
  /** What it allows, as a sentence part for docs/roles.md. */
  meaning: string;
}

const everyone: readonly Role[] = roles;
const administration: readonly Role[] = ['admin', 'operator'];
const intake: readonly Role[] = ['member', 'admin', 'service', 'operator'];
const driving: readonly Role[] = ['admin', 'service', 'operator'];

/**
 * The whole matrix. Every right but `tenant.manage`, `connection.import` and `worker.cycle_all` is about the caller's
 * own tenant, which row-level security enforces. An operator is an admin of its own tenant and more.
 */
export const rights = {
  'tenant.read_own': { roles: everyone, meaning: 'see your own tenant and who you are' },
  'tenant.manage': {
    roles: ['operator'],
    meaning: 'list, create and change all tenants, their plans and limits',
  },
  'workspace.read': { roles: everyone, meaning: 'list workspaces' },
  'workspace.manage': { roles: administration, meaning: 'create, rename and delete workspaces' },
  'user.read': { roles: administration, meaning: 'list users' },
  'user.manage': {
    roles: administration,
    meaning:
      'invite people, set their roles, remove them, disable and enable users and with them the keys they made ' +
      '(operators: only an operator)',
  },
  'api_key.manage': {
    roles: administration,
    meaning: 'list, create and revoke API keys (an operator’s: only an operator)',
  },
  'session.end': { roles: everyone, meaning: 'log out, and see and end their own sessions and API keys' },
  'job.read': { roles: everyone, meaning: 'see jobs (a member: only their own)' },
  'job.control': {
    roles: intake,
    meaning: 'pause, resume, cancel and kick off jobs (a member: only their own)',
  },
  'dead_letter.read': { roles: ['admin', 'support', 'operator'], meaning: 'see dead letters' },
  'dead_letter.requeue': { roles: ['support', 'operator'], meaning: 'requeue dead letters' },
  'event.read': {
    roles: everyone,
    meaning: 'see the audit log and its stream (a member: of their own jobs)',
  },
  'stats.read': { roles: everyone, meaning: 'see statistics (a member: of their own jobs)' },
  'installation.read': {
    roles: administration,
    meaning: 'see the names of machines, the results of upkeep and the address of Airbyte',
  },
  'worker.cycle': { roles: ['service', 'operator'], meaning: 'run one worker cycle for your own tenant' },
  'worker.cycle_all': { roles: ['operator'], meaning: 'run one worker cycle for all tenants' },
  'upload.create': { roles: intake, meaning: 'upload reports' },
  'upload.read': { roles: everyone, meaning: 'see uploads, their rows and what was promoted' },
  'upload.control': { roles: intake, meaning: 'map, promote, cancel and undo uploads' },
  'upload.platforms': { roles: driving, meaning: 'define and delete platforms of the tenant’s own' },
  'source.read': { roles: everyone, meaning: 'see sources that reports are pulled from' },
  'source.manage': { roles: administration, meaning: 'create, change and delete sources of reports' },
  'source.pull': { roles: driving, meaning: 'pull reports from a source now' },
  'item.create': { roles: intake, meaning: 'create item jobs' },
  'item.read': { roles: everyone, meaning: 'see items (a member: of their own jobs)' },
  'item.templates': { roles: driving, meaning: 'save and delete templates of item jobs' },
  'item.control': {
    roles: intake,
    meaning: 'reprocess, correct and delete items (a member: of their own jobs)',
  },
  'catalog.read': { roles: everyone, meaning: 'see catalogues and match rows against them' },
  'catalog.manage': { roles: administration, meaning: 'replace and delete catalogues' },
  'knowledge.read': { roles: everyone, meaning: 'see knowledge bases, their documents and runs' },
  'knowledge.search': { roles: everyone, meaning: 'search knowledge bases' },
  'knowledge.manage': { roles: driving, meaning: 'create, change and delete knowledge bases and sources' },
  'knowledge.ingest': { roles: driving, meaning: 'add documents and start, pause and cancel runs' },
  'scrape.read': { roles: everyone, meaning: 'see scrape sources, runs and hand-offs' },
  'scrape.manage': { roles: driving, meaning: 'create, change and delete scrape sources' },
  'scrape.sync': { roles: driving, meaning: 'push references and start crawls' },
  'adapter.read': { roles: everyone, meaning: 'see adapters and the files that they have found' },
  'adapter.manage': { roles: administration, meaning: 'create, change, check and delete adapters' },
  'adapter.scan': { roles: driving, meaning: 'scan adapters and try failed files again' },
  'connector.read': { roles: everyone, meaning: 'see connectors and syncs' },
  'connector.manage': { roles: administration, meaning: 'create, change and delete connectors' },
  'connector.sync': { roles: driving, meaning: 'start a sync' },
  'connection.import': {
    roles: ['operator'],
    meaning: 'list and import the connections of the shared workspace',
  },
  'secret.manage': {
    roles: administration,
    meaning: 'store and remove secrets for providers (nobody can read them)',
  },
  'secret.use': {
    roles: intake,
    meaning: 'use stored secrets and see their names (a member: only those marked for members)',
  },
  'provider.manage': {
    roles: administration,
    meaning: 'limit the calls to providers: rate, budget, timeout',
  },
  'webhook.manage': { roles: administration, meaning: 'manage webhook endpoints and resend deliveries' },
} satisfies Record<string, Right>;

export type Action = keyof typeof rights;

export const actions = Object.keys(rights) as Action[];

export function rolesAllowed(action: Action): readonly Role[] {
  return rights[action].roles;
}

export function can(role: Role, action: Action): boolean {
  return rolesAllowed(action).includes(role);
}

export function rightsOf(role: Role): Action[] {
  return actions.filter((action) => can(role, action));
}

/** Which roles a principal may give to an API key: never more than it has itself. */
export function grantableRoles(role: Role): readonly Role[] {
  if (role === 'operator') return roles;
  return role === 'admin' ? ['member', 'admin', 'service'] : [];
}
