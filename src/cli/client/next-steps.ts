import { houses } from '../../houses.ts';
import { eventErrors } from '../../kernel/events/errors.ts';
import { fileErrors } from '../../kernel/files/errors.ts';
import { jobErrors } from '../../kernel/jobs/errors.ts';
import { tenancyErrors } from '../../kernel/tenancy/errors.ts';
import type { ErrorDefinition } from '../../lib/errors.ts';
import { databaseErrors } from '../../lib/postgres/db-errors.ts';

/** What to do about an error that the server named by its code. */
export function nextStepFor(code: string): string {
  return definitions[code]?.next ?? `docs/errors.md says under ${code} what to do.`;
}

const definitions: Record<string, ErrorDefinition | undefined> = Object.assign(
  {},
  ...[jobErrors, eventErrors, tenancyErrors, databaseErrors, fileErrors].map((each) => each.definitions),
  ...houses.flatMap(({ errors }) => errors.map(({ catalogue }) => catalogue.definitions)),
);
