import { expect, test } from 'vitest';
import { noSecrets } from '../../../../test/support/worlds/secrets.ts';
import type { CatalogDoor } from '../../../kernel/house/doors.ts';
import { AnswerChecks } from '../processing/processors/llm/answer-checks.ts';
import { createProcessorRegistry } from '../processing/processors/registry.ts';
import type { ItemOutcome } from '../processing/processors/types.ts';
import { RowChecks } from '../processing/processors/validate/row-checks.ts';
import { chooseAtLast, chooseForRows, refuseEarly, type Wish } from './choose-processor.ts';

const processItem = (): ItemOutcome => ({ status: 'DONE', result: {} });
const custom = [{ name: 'mine', normalize: () => ({}), processItem }];
// No processor of these tests looks anything up.
const catalogs = {} as CatalogDoor;
const deps = {
  processors: createProcessorRegistry({
    rowChecks: new RowChecks(),
    answerChecks: new AnswerChecks(),
    catalogs,
    custom,
  }),
  secrets: noSecrets,
};
const wish: Wish = {
  tenantId: 't',
  role: 'member',
  fileName: 'rows.csv',
  processor: null,
  options: undefined,
};
const usual = chooseForRows(deps, wish, 'csv');

test('the default processor depends on what the file is', () => {
  expect(usual.name).toBe('noop');
  expect(chooseForRows(deps, wish, 'image').name).toBe('image');
});

test('options that may still arrive are not refused, and wrong ones that have arrived are', async () => {
  const named = { ...wish, processor: 'validate' };
  await refuseEarly(deps, named);
  await expect(refuseEarly(deps, { ...named, options: {} })).rejects.toMatchObject({
    code: 'processor_options_invalid',
  });
  const before = { jobType: 'csv', processor: usual } as const;
  await expect(chooseAtLast(deps, named, before)).rejects.toMatchObject({
    code: 'processor_options_invalid',
  });
});

test('a processor with its own normalized fields must be named before the file', async () => {
  const before = { jobType: 'csv', processor: usual } as const;
  const late = chooseAtLast(deps, { ...wish, processor: 'mine' }, before);
  await expect(late).rejects.toMatchObject({
    code: 'form_invalid',
    message: expect.stringContaining('after the file'),
  });
  const mine = deps.processors.get('mine');
  const inTime = chooseAtLast(deps, { ...wish, processor: 'mine' }, { ...before, processor: mine });
  expect((await inTime).processor.name).toBe('mine');
});
