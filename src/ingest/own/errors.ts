import { bug, defineErrors, forbidden, invalid, notFound } from '../../lib/errors.ts';

export const ownErrors = defineErrors({
  definition_invalid: invalid(
    'The definition of a pipeline or a task is wrong',
    'Change what definePipeline or defineTask is given as the message says.',
  ),
  task_unknown: notFound(
    'There is no such pipeline or task here',
    'GET /api/tasks lists them. A new one must be in `pipelines` or `tasks`, in every process.',
  ),
  input_invalid: invalid(
    'The input does not fit the schema',
    'Correct the places in `errors`; the schema of each task is in GET /api/tasks.',
  ),
  not_json: bug(
    'A value cannot be remembered',
    'Return plain JSON of the size that the message names; keep what is larger in a table or a file of your own.',
  ),
  transaction_control: bug(
    'Effects may not begin, end or leave their transaction',
    'Remove the statement: what effects write commits together with the slice.',
  ),
  tables_closed: forbidden(
    'Effects may not use this table',
    'Grant it: `grant select, insert, update, delete on <table> to sluice_effects`. Sluice’s own tables stay closed.',
  ),
  dispatch_refused: forbidden(
    'This login may not dispatch',
    'Grant it once, as the owner: `await sluice.grantDispatch(role)`.',
  ),
});
