import { Properties } from '../properties.ts';
import type { Converted } from '../types.ts';
import type { OfficeParts } from './parts.ts';

/** Title and properties from the part that has them: `docProps/core.xml`, `meta.xml` or the package of a book. */
export async function readCore(
  parts: OfficeParts,
  part = 'docProps/core.xml',
): Promise<Pick<Converted, 'title' | 'metadata'>> {
  const properties = new Properties();
  let title = '';
  let value = '';
  await parts.read(part, {
    open: () => {
      value = '';
    },
    close: (name) => {
      if (name === 'title') title ||= value.trim();
      else properties.add(named(name), value);
      value = '';
    },
    text: (text) => {
      if (value.length < 10_000) value += text;
    },
  });
  return { title: title === '' ? null : title, metadata: properties.fields };
}

/** What OpenDocument calls otherwise; its `date` is that of the last change. */
function named(name: string): string {
  if (name === 'initial-creator') return 'author';
  return name === 'creation-date' ? 'created' : name === 'keyword' ? 'keywords' : name;
}
