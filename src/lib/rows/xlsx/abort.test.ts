import { expect, test } from 'vitest';
import { cutAt } from '../../../../test/generators/byte-stream.ts';
import { greedyWorkbook } from '../../../../test/generators/workbook-bombs.ts';
import { spoolContent } from '../../formats/spool.ts';
import { defaultReaderLimits as limits } from '../types.ts';
import { openRowArchive } from './archive-kind.ts';
import { openWorkbookRows } from './open-workbook-rows.ts';

test('a workbook is read no further than the piece at which its signal aborts', {
  timeout: 60_000,
}, async () => {
  const spool = await spoolContent(cutAt(greedyWorkbook(), []), { maxBytes: limits.archiveBytes });
  const archive = await openRowArchive(spool, limits);
  const gone = new AbortController();
  let pieces = 0;
  const watched: typeof archive = {
    sizeBytes: archive.sizeBytes,
    entries: archive.entries,
    find: (name) => archive.find(name),
    close: () => archive.close(),
    async *read(entry) {
      for await (const piece of archive.read(entry)) {
        if (entry.name.endsWith('sharedStrings.xml')) pieces += 1;
        if (pieces === 3) gone.abort(new Error('the client has gone'));
        yield piece;
      }
    },
  };
  await expect(openWorkbookRows(watched, { limits, signal: gone.signal })).rejects.toThrow(
    'the client has gone',
  );
  expect(pieces).toBe(3);
});
