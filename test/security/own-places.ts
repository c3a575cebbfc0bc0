import type { Place } from './each-string.ts';

const undefinedHere: Place = {
  back: null,
  why: 'nothing is defined in this installation',
  params: async () => ({ name: 'nothing' }),
};

/** What pipelines and tasks keep is in test/library. */
export const ownPlaces: Record<string, Place> = {
  'POST /api/tasks/:name /subjectId': undefinedHere,
  'POST /api/tasks/:name /runAt': { ...undefinedHere, isAlike: true },
};
