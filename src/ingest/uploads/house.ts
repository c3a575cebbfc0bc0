import { defineHouse } from '../../kernel/house/house.ts';
import { uploadErrors, uploadFailures } from './errors.ts';
import { figureErrors } from './figures/errors.ts';
import { profileErrors, reportErrors } from './reports/errors.ts';
import { uploadSettings } from './settings.ts';

/** Ad reports, through staging and validation into production tables. */
export const uploadHouse = defineHouse({
  name: 'uploads',
  settings: uploadSettings,
  errors: [
    { title: 'Uploads', catalogue: uploadErrors },
    { title: 'Report files', catalogue: reportErrors },
    { title: 'Reports', catalogue: profileErrors },
    { title: 'Figures', catalogue: figureErrors },
    { title: 'Failed uploads', catalogue: uploadFailures },
  ],
  commands: {
    upload: async () => (await import('./commands/upload.ts')).addUploadCommand,
    'bi-login': async () => (await import('./commands/bi-login.ts')).addBiLoginCommand,
    uploads: async () => (await import('./commands/platforms.ts')).addUploadsCommand,
    data: async () => (await import('./commands/figures.ts')).addDataCommand,
  },
  open: async (ground, config) => {
    const { openUploadHouse } = await import('./open.ts');
    const house = openUploadHouse({ ...config, ...ground });
    ground.doors.offer('reports', house.door);
    return house;
  },
});
