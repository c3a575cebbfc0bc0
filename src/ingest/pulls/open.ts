import type { Ground, OpenHouse } from '../../kernel/house/house.ts';
import type { SettingValues } from '../../lib/settings/settings.ts';
import { type Clock, systemClock } from '../../lib/timing/clock.ts';
import { pullFindables } from './find-store.ts';
import { pullsPipeline } from './pipeline.ts';
import { sourceRoutes } from './routes.ts';
import { scheduleDuePulls } from './schedule/schedule.ts';
import type { pullSettings } from './settings.ts';
import { listSourceAttention, listSourceNames } from './store.ts';

export interface PullHouseOptions
  extends Pick<Ground, 'db' | 'logger' | 'fetch' | 'secrets' | 'kernel' | 'doors'>,
    SettingValues<typeof pullSettings> {
  clock?: Clock;
}

const scheduleEveryMs = 5_000;

export function openPullHouse(options: PullHouseOptions) {
  const { db, logger, fetch, secrets, kernel, doors } = options;
  // The houses behind these doors may open after this one.
  const reports = doors.later('reports');
  const filePlaces = doors.later('filePlaces');
  const policy = {
    retryBaseMs: options.pullRetryBaseSeconds * 1000,
    pollMs: options.pullPollSeconds * 1000,
  };
  const beforeCycle = (scope?: { tenantId?: string }) => scheduleDuePulls(kernel.jobs, logger, scope);
  const findRefusal = async (url: string) => (await fetch.findRefusal?.(url)) ?? null;
  return {
    pipeline: pullsPipeline({
      ...{ db, fetch, secrets, reports, filePlaces, policy },
      clock: options.clock ?? systemClock,
    }),
    routes: [
      sourceRoutes({
        ...kernel.jobs,
        ...{ secrets, reports, filePlaces, findRefusal },
        uploadSourceMaxCount: options.uploadSourceMaxCount,
      }),
    ],
    tasks: [
      {
        name: 'schedule_pulls',
        everyMs: scheduleEveryMs,
        run: async () => ({ ...(await beforeCycle()) }),
      },
    ],
    beforeCycle,
    findables: pullFindables,
    rowCounter: 'uploads',
    subjectNames: listSourceNames,
    attention: listSourceAttention,
  } satisfies OpenHouse;
}
