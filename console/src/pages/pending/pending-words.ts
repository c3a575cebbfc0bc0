import { plural } from '../../parts/number.ts';

/** The API processes rows again job by job. */
export function groupByJob(rows: readonly { id: string; jobId: string }[]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const { id, jobId } of rows) groups.set(jobId, [...(groups.get(jobId) ?? []), id]);
  return groups;
}

/** The chosen rows were open: those that ended meanwhile are reprocessed, the others are processed anyway. */
export function selectedSentence(
  chosen: number,
  { reset, exhausted }: { reset: number; exhausted: number },
): string {
  const open = Math.max(0, chosen - reset - exhausted);
  const words = [
    reset === 0 ? '' : `${plural(reset, 'row')} had ended and will be processed again`,
    exhausted === 0
      ? ''
      : `${plural(exhausted, 'row')} had ended and ${exhausted === 1 ? 'has' : 'have'} no attempts left`,
    open === 0
      ? ''
      : `${plural(open, 'row')} ${open === 1 ? 'is' : 'are'} still open and will be processed anyway`,
  ].filter((word) => word !== '');
  return `${words.join('; ')}.`;
}
