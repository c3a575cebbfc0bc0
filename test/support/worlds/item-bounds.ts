import { itemSettings } from '../../../src/ingest/items/settings.ts';
import type { ItemBounds } from '../../../src/ingest/items/types.ts';

/** The defaults of the settings. */
export const itemBounds = Object.fromEntries(
  Object.entries(itemSettings).map(([name, setting]) => [name, setting.default]),
) as unknown as ItemBounds;
