import { seededRandom } from '../chaos/seeded-random.ts';
import { everyKth } from './crash-run.ts';

/** `npm run chaos` dies at every point; `npm test` at some of them, and a printed seed repeats which. */
export const isFull = process.env.SLUICE_CHAOS === 'full';
const seed = Number(process.env.SLUICE_CHAOS_SEED ?? Math.floor(Math.random() * 2 ** 31));
export const crashTimeout = isFull ? 40 * 60_000 : 5 * 60_000;

/** A number from 0 to 1 that decides which points are chosen; prints how to have the same again. */
export function drawOffset(): number {
  console.log(`seed ${seed} (SLUICE_CHAOS_SEED=${seed} repeats its choices)`);
  return seededRandom(seed).next();
}

/** Every k-th point, so that there are at least so many; null stands for all of them. */
export function chooseCrashes(atLeast: number): ((points: string[]) => string[]) | null {
  const offset = drawOffset();
  return isFull ? null : (points) => everyKth(points, { atLeast, offset });
}
