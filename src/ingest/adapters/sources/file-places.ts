import type { FilePlace, FilePlaceDoor } from '../../../kernel/house/doors.ts';
import { toCamelCase } from '../../../lib/snake-case.ts';
import { isWanted } from '../files/file-names.ts';
import { filePlaceForms } from '../form.ts';
import type { FoundFile, FtpPlace, S3Place } from '../types.ts';
import { openPlace, type SourceDeps } from './open-place.ts';
import { assertPlaceUsable } from './place-checks.ts';

/** For houses that read files from places without an adapter: nothing is recorded here and nothing is moved. */
export function filePlaces(deps: SourceDeps): FilePlaceDoor {
  return {
    forms: filePlaceForms,
    check: ({ tenantId, role }, given) =>
      assertPlaceUsable(deps, { tenantId, role, place: placeOf(given).place }),
    open: async (tenantId, given) => {
      const { place, pattern } = placeOf(given);
      const source = await openPlace(deps, { tenantId, place });
      const { isAtomic, find } = source;
      return {
        ...{ isAtomic, find },
        list: () => source.list((name) => isWanted(name, pattern)),
        read: (file, into) => source.read({ modifiedAt: null, ...file } satisfies FoundFile, into),
        close: () => source.close(),
      };
    },
  };
}

/** Stored places were checked by the same form. */
function placeOf(given: FilePlace): { place: S3Place | FtpPlace; pattern: string | null } {
  const { pattern, ...place } =
    given.kind === 's3' ? filePlaceForms.s3.parse(given) : filePlaceForms.ftp.parse(given);
  return { place: toCamelCase(place), pattern };
}
