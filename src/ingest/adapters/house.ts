import type { FileDoor } from '../../kernel/house/doors.ts';
import { defineHouse } from '../../kernel/house/house.ts';
import { adapterErrors, adapterFailures } from './errors.ts';
import { adapterSettings } from './settings.ts';
import type { Target, TargetDoor } from './types.ts';

/** Folders, S3 prefixes and FTP directories: each file once and whole, into the house that it is for. */
export const adapterHouse = defineHouse({
  name: 'adapters',
  settings: adapterSettings,
  errors: [
    { title: 'Adapters', catalogue: adapterErrors },
    { title: 'Failed scans of adapters', catalogue: adapterFailures },
  ],
  commands: { scan: async () => (await import('./commands/scan.ts')).addScanCommand },
  open: async (ground, config) => {
    const { openAdapterHouse } = await import('./open.ts');
    const doors = {
      items: doorFor('items', () => ground.doors.get('rows')),
      uploads: doorFor('uploads', () => ground.doors.get('reports')),
    };
    const house = openAdapterHouse({ ...config, ...ground, doors });
    ground.doors.offer('filePlaces', house.door);
    return house;
  },
});

type TargetOf<Kind> = Extract<Target, { kind: Kind }>;

/** A door that takes targets of one kind; the house behind it may open after this one. */
export function doorFor<Kind extends Target['kind']>(
  kind: Kind,
  find: () => FileDoor<TargetOf<Kind>>,
): TargetDoor {
  const own = (target: Target): TargetOf<Kind> => {
    if (target.kind === kind) return target as TargetOf<Kind>;
    throw new Error(`A file for ${target.kind} came to the door of ${kind}`);
  };
  return {
    get maxBytes() {
      return find().maxBytes;
    },
    check: (tenantId, target) => find().check(tenantId, own(target)),
    takeIn: (file) => find().takeIn({ ...file, target: own(file.target) }),
  };
}
