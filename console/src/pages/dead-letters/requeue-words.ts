import { codeWords } from '../../api/needs.ts';
import { count, plural } from '../../parts/number.ts';

export interface Requeued {
  requeued: number;
  /** Why each of the others was left out. */
  skipped: string[];
}

/** "Requeued 35 dead letters. 2 were left out: already requeued (2)." */
export function requeueSentence({ requeued, skipped }: Requeued): string {
  const main = `Requeued ${plural(requeued, 'dead letter')}.`;
  if (skipped.length === 0) return main;
  const reasons = [...new Set(skipped)].map(
    (code) => `${codeWords(code)} (${skipped.filter((other) => other === code).length})`,
  );
  return `${main} ${count(skipped.length)} ${skipped.length === 1 ? 'was' : 'were'} left out: ${reasons.join(', ')}.`;
}
