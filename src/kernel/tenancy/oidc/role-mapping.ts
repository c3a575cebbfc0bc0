import { isUsableId, type Role, roles } from '../types.ts';

/** Of the settings: who is in the group gets the role. */
export interface RoleRule {
  group: string;
  role: Role;
}

/** Stands for everybody whom the provider lets in. */
const everybody = '*';

export const roleMappingForm =
  'pairs of group:role, separated by semicolons, such as `sluice-admins:admin; staff:member`; the role is one of ' +
  `${roles.join(', ')}; the group * is everybody and may only be given the role member`;

/** A role at the end of a group means that pairs were separated by commas, which groups may contain. */
const swallowedPair = new RegExp(`:\\s*(${roles.join('|')})\\s*,`);

/** Returns null when the text is not of the form. Groups may contain `=`, `,` and `:`, as LDAP names and URNs do. */
export function parseRoleMapping(text: string): RoleRule[] | null {
  const parts = text.split(/[;\n]/).map((part) => part.trim());
  const rules = parts.filter((part) => part !== '').map(parseRule);
  return rules.length > 0 && rules.every((rule) => rule !== null) ? rules : null;
}

function parseRule(text: string): RoleRule | null {
  const separator = text.lastIndexOf(':');
  const group = text.slice(0, Math.max(0, separator)).trim();
  const role = roles.find((name) => name === text.slice(separator + 1).trim());
  if (role === undefined || !isUsableId(group) || swallowedPair.test(text)) return null;
  return group === everybody && role !== 'member' ? null : { group, role };
}

/** The first rule that fits decides, so that the order of the setting is the order of precedence. */
export function roleOf(groups: readonly string[], rules: readonly RoleRule[]): Role | null {
  const rule = rules.find(({ group }) => group === everybody || groups.includes(group));
  return rule?.role ?? null;
}
