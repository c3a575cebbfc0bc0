import { ApiProblem } from '../../api/client.ts';

/** The server's message about one field, or about a part of it. */
export function problemAt(error: unknown, pointer: string): string | undefined {
  if (!(error instanceof ApiProblem)) return undefined;
  const found = error.errors.find((one) => one.pointer === pointer || one.pointer.startsWith(`${pointer}/`));
  return found?.message;
}

/** The problems of one step of a chain, as if its options were those of the job. */
export function problemsOfStep(error: unknown, index: number): unknown {
  if (!(error instanceof ApiProblem)) return null;
  const start = `/options/steps/${index}/options`;
  const errors = error.errors
    .filter(({ pointer }) => pointer.startsWith(start))
    .map((one) => ({ ...one, pointer: `/options${one.pointer.slice(start.length)}` }));
  return new ApiProblem(error.status, { ...error.document, errors });
}
