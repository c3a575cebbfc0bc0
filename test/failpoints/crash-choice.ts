import { seededRandom } from '../chaos/seeded-random.ts';
import { drawEvenly } from './crash-run.ts';

/** `npm run chaos` dies at every point; `npm test` at some of them, and a printed seed repeats which. */
export const isFull = process.env.SLUICE_CHAOS === 'full';
const seed = Number(process.env.SLUICE_CHAOS_SEED ?? Math.floor(Math.random() * 2 ** 31));
export const crashTimeout = isFull ? 40 * 60_000 : 15 * 60_000;

/** A number from 0 to 1 that decides which points are chosen; prints how to repeat it. */
export function drawOffset(): number {
  console.log(`seed ${seed} (SLUICE_CHAOS_SEED=${seed} repeats its choices)`);
  return seededRandom(seed).next();
}

/**
 * At least so many, one of the first tenth, where the client has no answer yet, the others evenly over the whole way,
 * and other ones in each run; null stands for all of them. A few more are chosen than are due, because a point that
 * depends on time may not be reached.
 */
export function chooseCrashes(atLeast: number): ((points: string[]) => string[]) | null {
  const offset = drawOffset();
  if (isFull) return null;
  const spares = Math.ceil(atLeast / 4);
  return (points) => {
    const first = drawEvenly(points.slice(0, Math.ceil(points.length / 10)), { count: 1, offset });
    const later = points.filter((point) => !first.includes(point));
    const drawn = [...first, ...drawEvenly(later, { count: atLeast - 1, offset })];
    const others = points.filter((point) => !drawn.includes(point));
    return [...drawn, ...drawEvenly(others, { count: spares, offset })];
  };
}
