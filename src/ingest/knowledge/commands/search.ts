import { type Command, Option } from 'commander';
import type { z } from 'zod';
import { addClientFlags, connectClient } from '../../../cli/client/client.ts';
import { parseKb, routeOf } from '../../../cli/client/knowledge-bases.ts';
import { wholeNumber } from '../../../cli/terminal/arguments.ts';
import { shortText } from '../../../cli/terminal/cells.ts';
import { note, print, printJson } from '../../../cli/terminal/output.ts';
import type { searchReply } from '../views.ts';

type SearchView = z.output<typeof searchReply>;
type Found = SearchView['results'][number];

interface SearchFlags {
  kb: string;
  mode: string;
  limit: number;
  json?: boolean;
}

/** The first search loads the model. */
const searchTimeoutMs = 120_000;

export function addSearchCommand(program: Command): void {
  const command = program
    .command('search')
    .description('Search a knowledge base by meaning, by words, or by both.')
    .argument('<query>', 'a question, or words')
    .requiredOption('--kb <name>', 'the knowledge base', parseKb)
    .addOption(
      new Option('--mode <mode>', 'how to search').choices(['hybrid', 'vector', 'text']).default('hybrid'),
    )
    .option('--limit <n>', 'how many at most', wholeNumber('--limit', { min: 1, max: 50 }), 5);
  addClientFlags(command).action(async (query: string, flags: SearchFlags, self: Command) => {
    const { kb, mode, limit, json } = flags;
    const client = await connectClient(self);
    const found = await client.post<SearchView>(`${routeOf(kb)}/search`, {
      body: { query, mode, limit },
      timeoutMs: searchTimeoutMs,
    });
    if (json) return printJson(found);
    for (const text of found.notes ?? []) note(text);
    if (found.results.length === 0) return note('Nothing was found.');
    print(found.results.map(describe).join('\n\n'));
  });
}

/** 0.812  Manual > Install  (file:manual.md), and the passage below it. */
function describe({ score, document, heading_path: headings, text, page }: Found): string {
  const place = [document.title, ...headings].filter((part, at, all) => part !== '' && part !== all[at - 1]);
  const where = `${shortText(document.uri, 200)}${page === undefined ? '' : `, page ${page}`}`;
  const head = `${score.toFixed(3)}  ${shortText(place.join(' > '), 200)}  (${where})`;
  const lines = text
    .split('\n')
    .map((line) => `  ${line.trim() === '' ? '' : shortText(line, 1_000)}`.trimEnd());
  return [head, ...lines].join('\n');
}
