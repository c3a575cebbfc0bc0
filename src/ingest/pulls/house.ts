import { defineHouse } from '../../kernel/house/house.ts';
import { pullFailures, sourceErrors, sourceScheduleErrors } from './errors.ts';
import { pullSettings } from './settings.ts';

/** Sources that reports are pulled from on a schedule: URLs, S3, FTP, and the reporting APIs of platforms. */
export const pullHouse = defineHouse({
  name: 'pulls',
  settings: pullSettings,
  errors: [
    { title: 'Sources of uploads', catalogue: sourceErrors },
    { title: 'Schedules of sources', catalogue: sourceScheduleErrors },
    { title: 'Failed pulls', catalogue: pullFailures },
  ],
  commands: {
    'upload-sources': async () => (await import('./commands/sources.ts')).addSourcesCommand,
  },
  open: async (ground, config) => {
    const { openPullHouse } = await import('./open.ts');
    return openPullHouse({ ...config, ...ground });
  },
});
