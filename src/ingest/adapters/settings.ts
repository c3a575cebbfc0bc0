import { text, wholeNumber } from '../../lib/settings/setting-kinds.ts';
import { setting } from '../../lib/settings/settings.ts';

export const adapterSettings = {
  adapterFolder: setting('ADAPTER_FOLDER', text({ max: 4_000 }), {
    describe:
      'Folder adapters read here, each tenant in the subfolder named after its id. Unset: no folder adapters.',
  }),
  adapterMaxCount: setting('ADAPTER_MAX_COUNT', wholeNumber({ min: 1, max: 10_000 }), {
    default: 100,
    describe: 'How many adapters a tenant may have.',
  }),
};
