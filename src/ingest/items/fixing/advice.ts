import type { ErrorDefinition } from '../../../lib/errors.ts';
import { fetchErrors } from '../../../lib/fetch/errors.ts';
import { imageFailures } from '../images/errors.ts';
import { processorErrors } from '../processing/processors/errors.ts';
import type { FailureGroup } from './store.ts';

/** What a person can do about rows that failed for one reason. */
export interface Advice {
  title: string;
  next: string;
  /** Whether the same row may end differently when nothing but time has changed. */
  canRetry: boolean;
}

const known: Record<string, Advice> = {
  validation_failed: fix(
    'The row breaks a rule',
    'Correct the cell that the reason names; the row then runs again.',
  ),
  template_value_missing: fix(
    'The row lacks a value that the request needs',
    'Fill in the column that the reason names; the row then runs again.',
  ),
  provider_failed: again('The provider failed', 'Try these rows again once the provider works.'),
  provider_throttled: again(
    'The provider refused more calls',
    'Try these rows again later, or lower the rate.',
  ),
  fetch_timeout: again(
    'The provider did not answer in time',
    'Try these rows again once the provider works, or make a new job with a longer time limit.',
  ),
  fetch_failed: again('The provider could not be reached', 'Try these rows again once the provider works.'),
  provider_garbage: again(
    'The provider returned something that cannot be read',
    'Check the response settings of the job; if the provider had a bad moment, try these rows again.',
  ),
  provider_refused: fix(
    'The provider refused the request',
    'Correct the values of these rows, or make a new job with other request settings.',
  ),
  provider_unauthorized: again(
    'The provider did not accept the credentials',
    'Ask an admin to store a valid secret, then try these rows again.',
  ),
  worker_crashed: again(
    'The worker died several times with these rows',
    'Look at the logs, then try one row alone.',
  ),
  not_found: fix('The provider knows nothing about these rows', 'Correct the values that it is asked for.'),
};

/** By code; codes of custom processors have only their message. */
export function adviceOn({ status, errorCode }: Pick<FailureGroup, 'status' | 'errorCode'>): Advice {
  const code = errorCode ?? (status === 'NOT_FOUND' ? 'not_found' : '');
  const found = known[code] ?? fromCatalogue(code);
  if (found !== null) return found;
  if (status === 'NOT_FOUND') return known.not_found as Advice;
  return again(
    'The processor reported an error',
    'Read the reason. Correct the rows if it is about their values, or try them again.',
  );
}

function fromCatalogue(code: string): Advice | null {
  const catalogues: Record<string, ErrorDefinition> = {
    ...imageFailures.definitions,
    ...processorErrors.definitions,
    ...fetchErrors.definitions,
  };
  const definition = Object.hasOwn(catalogues, code) ? catalogues[code] : undefined;
  if (definition === undefined) return null;
  return { title: definition.title, next: definition.next, canRetry: definition.kind !== 'invalid' };
}

function fix(title: string, next: string): Advice {
  return { title, next, canRetry: false };
}

function again(title: string, next: string): Advice {
  return { title, next, canRetry: true };
}
