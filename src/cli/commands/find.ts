import type { Command } from 'commander';
import { addClientFlags, connectClient } from '../client/client.ts';
import { wholeNumber } from '../terminal/arguments.ts';
import { shortText } from '../terminal/cells.ts';
import { note, print, printJson, table } from '../terminal/output.ts';

interface FoundView {
  data: { kind: string; id: string; name: string; url: string }[];
}

export function addFindCommand(program: Command): void {
  const command = program
    .command('find')
    .description('Find uploads, jobs, bases, documents, connectors and more by name or id.')
    .argument('<words...>', 'words of a name, or an id')
    .option('--limit <n>', 'how many at most', wholeNumber('--limit', { min: 1, max: 100 }), 30);
  addClientFlags(command).action(
    async (words: string[], { limit, json }: { limit: number; json?: boolean }, self: Command) => {
      const client = await connectClient(self);
      const found = await client.get<FoundView>('/api/search', { query: { q: words.join(' '), limit } });
      if (json) return printJson(found);
      if (found.data.length === 0) return note('Nothing has this name or id.');
      const rows = found.data.map(({ kind, name, id }) => [kind, shortText(name, 60), shortText(id, 60)]);
      print(table([['KIND', 'NAME', 'ID'], ...rows]));
    },
  );
}
