import { expect, test } from 'vitest';
import { parseRoleMapping, roleOf } from './role-mapping.ts';

test('a mapping is pairs in the order of precedence; the last colon separates group and role', () => {
  const rules = parseRoleMapping(
    ' urn:acme:ops:operator; cn=admin,ou=groups:admin;\n staff:member; *:member ',
  );
  expect(rules).toEqual([
    { group: 'urn:acme:ops', role: 'operator' },
    { group: 'cn=admin,ou=groups', role: 'admin' },
    { group: 'staff', role: 'member' },
    { group: '*', role: 'member' },
  ]);
  expect(roleOf(['staff', 'cn=admin,ou=groups'], rules ?? [])).toBe('admin');
  expect(roleOf([], rules ?? [])).toBe('member');
  expect(roleOf(['Staff'], [{ group: 'staff', role: 'member' }])).toBeNull();
});

test.each(['staff', 'staff:boss', ':admin', 'a:admin,b:member', '*:admin', 'staff=member', ';'])(
  '%s is no mapping',
  (text) => {
    expect(parseRoleMapping(text)).toBeNull();
  },
);
