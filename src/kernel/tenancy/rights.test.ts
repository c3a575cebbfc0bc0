import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { actions, can, grantableRoles, rights, rightsOf } from './rights.ts';
import { roles } from './types.ts';

const script = new URL('../../../scripts/pages/roles.mjs', import.meta.url).href;
const { renderRolesDocument } = await import(script);

describe('the role × action matrix', () => {
  test('gives an operator everything that an admin has', () => {
    expect(rightsOf('operator')).toEqual(expect.arrayContaining(rightsOf('admin')));
  });

  test('gives an admin everything of the tenant except requeue and the worker’s cycle', () => {
    const withheld = actions.filter((action) => !can('admin', action));
    expect(withheld).toEqual([
      'tenant.manage',
      'dead_letter.requeue',
      'worker.cycle',
      'worker.cycle_all',
      'connection.import',
    ]);
  });

  test('lets only support and operators requeue dead letters', () => {
    expect(roles.filter((role) => can(role, 'dead_letter.requeue'))).toEqual(['support', 'operator']);
  });

  test('lets support change nothing but the queue of dead letters', () => {
    const changes = rightsOf('support').filter((action) => !/\.(read|read_own|search|end)$/.test(action));
    expect(changes).toEqual(['dead_letter.requeue']);
  });

  test('keeps tenants, connection import and everybody’s cycles for operators', () => {
    for (const action of ['tenant.manage', 'connection.import', 'worker.cycle_all'] as const) {
      expect(roles.filter((role) => can(role, action))).toEqual(['operator']);
    }
  });

  test('never lets a key have more rights than its creator', () => {
    for (const role of roles) {
      for (const granted of grantableRoles(role)) {
        const extra = rightsOf(granted).filter((action) => !can(role, action) && action !== 'worker.cycle');
        expect({ role, granted, extra }).toEqual({ role, granted, extra: [] });
      }
    }
    expect(grantableRoles('member')).toEqual([]);
  });

  test('is what docs/roles.md says', async () => {
    const path = new URL('../../../docs/roles.md', import.meta.url);
    expect(await readFile(path, 'utf8'), 'run `npm run generate`').toBe(
      renderRolesDocument({ actions, can, grantableRoles, rights, roles }),
    );
  });
});
