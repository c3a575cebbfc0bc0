import type { Command } from 'commander';
import type { z } from 'zod';
import { addClientFlags, type Client, connectClient } from '../../../cli/client/client.ts';
import { maxListed, printList, readPages } from '../../../cli/client/lists.ts';
import { openLocalFiles, sendFile } from '../../../cli/client/send-file.ts';
import { wholeNumber } from '../../../cli/terminal/arguments.ts';
import { shortText, shortTime } from '../../../cli/terminal/cells.ts';
import { type ExitCode, exitCodes, UsageError } from '../../../cli/terminal/exit.ts';
import { interruptible } from '../../../cli/terminal/interruptible.ts';
import { note, print, printJson, table } from '../../../cli/terminal/output.ts';
import { messageOf } from '../../../lib/errors.ts';
import { catalogNamePattern, productFields } from '../types.ts';
import type { catalogReply, matchReply } from '../views.ts';

type CatalogView = z.output<typeof catalogReply>;
type MatchesView = z.output<typeof matchReply>;
type MatchView = MatchesView['matches'][number];

export function addCatalogCommand(program: Command): void {
  const catalog = program
    .command('catalog')
    .description('Catalogues of products, which the processor catalog matches rows against.');
  addList(catalog);
  addPut(catalog);
  addMatch(catalog);
  addRemove(catalog);
}

interface CommonFlags {
  json?: boolean;
}

function addList(catalog: Command): void {
  const command = catalog
    .command('list')
    .description('List catalogues with their counts and versions, by name.')
    .option('--limit <n>', 'how many at most', wholeNumber('--limit', { min: 1, max: maxListed }), 100);
  addClientFlags(command).action(async (flags: CommonFlags & { limit: number }, self: Command) => {
    const client = await connectClient(self);
    const page = await readPages<CatalogView>(client, '/api/catalogs', { query: {}, limit: flags.limit });
    const nothing = 'There are no catalogues. `sluice catalog put NAME FILE` makes one.';
    printList(page, { json: flags.json, nothing, header: listHeader, row: listRow });
  });
}

const listHeader = ['NAME', 'VERSION', 'PRODUCTS', 'LEFT OUT', 'UPDATED', 'BY', 'FILE'];

function listRow(catalog: CatalogView): string[] {
  return [
    catalog.name,
    String(catalog.version),
    String(catalog.productCount),
    String(catalog.skippedCount),
    shortTime(catalog.updatedAt),
    shortText(catalog.updatedBy, 30),
    shortText(catalog.fileName, 60),
  ];
}

interface PutFlags extends CommonFlags {
  fields?: string;
  sheet?: string;
  quiet?: boolean;
}

function addPut(catalog: Command): void {
  const command = catalog
    .command('put')
    .description(
      'Replace a catalogue as a whole by a file of products, or make it. Until all of it is in, the old one is used.',
    )
    .argument('<name>', 'lower-case letters, digits, - and _', parseName)
    .argument('<file>', 'XLSX, CSV, TSV, JSON or NDJSON; - is stdin')
    .option('--fields <json>', 'the columns of sku, brand, title and gtin, where their names do not tell')
    .option('--sheet <name>', 'of a workbook: the name of the sheet or its number, not the first visible one')
    .option('--quiet', 'show no progress')
    .addHelpText('after', putExample);
  addClientFlags(command).action(async (name: string, file: string, flags: PutFlags, self: Command) => {
    const [local] = await openLocalFiles([file]);
    if (local === undefined) return;
    const fields: Record<string, string> = {};
    if (flags.fields !== undefined) {
      fields.fields = JSON.stringify(parseObject('--fields', { text: flags.fields, example: fieldsExample }));
    }
    if (flags.sheet !== undefined) fields.sheet = flags.sheet;
    const client = await connectClient(self);
    process.exitCode = await interruptible(async (signal) => {
      const isSilent = flags.quiet === true;
      const sending = { method: 'PUT', route: routeOf(name), fields, isSilent, signal } as const;
      const made = await sendFile<CatalogView>(client, local, sending);
      if (flags.json) printJson(made);
      else describePut(made);
      return exitCodes.ok;
    });
  });
}

const fieldsExample = '{"sku": "Article No"}';
const putExample = `
Example: sluice catalog put products products.csv --fields '${fieldsExample}'`;

/** Which column was taken for what is said too: a wrong guess would only show as rows that are not found. */
function describePut({ name, version, productCount, skippedCount, fields }: CatalogView): void {
  print(`${name}  version ${version}, ${counted(productCount, 'product')}`);
  const known = productFields.map((field) => `${field} ${shortText(fields[field], 60)}`);
  note(`Columns: ${known.join(', ')}.`);
  if (skippedCount > 0) note(`Left out: ${counted(skippedCount, 'row')} without a SKU and a title.`);
}

interface MatchFlags extends CommonFlags {
  row: object[];
}

const maxRows = 100;

function addMatch(catalog: Command): void {
  const command = catalog
    .command('match')
    .description(
      'Say what a job with the processor catalog would find for rows. Exit 0: all were found, 3: some were not.',
    )
    .argument('<name>', 'of the catalogue', parseName)
    .requiredOption('--row <json>', `a row, by its columns; up to ${maxRows} times`, collectRow)
    .addHelpText('after', matchExample);
  addClientFlags(command).action(async (name: string, flags: MatchFlags, self: Command) => {
    const client = await connectClient(self);
    process.exitCode = await interruptible((signal) => match(client, { name, flags, signal }));
  });
}

const rowExample = '{"brand": "Acme", "title": "Garden hose 20 m"}';
const matchExample = `
Example: sluice catalog match products --row '{"sku": "A-17"}' --row '${rowExample}'`;

function collectRow(text: string, before: object[] = []): object[] {
  if (before.length < maxRows) return [...before, parseObject('--row', { text, example: rowExample })];
  throw new UsageError(`There are more than ${maxRows} --row. Allowed: fewer at a time.`);
}

async function match(
  client: Client,
  { name, flags, signal }: { name: string; flags: MatchFlags; signal: AbortSignal },
): Promise<ExitCode> {
  const body = { rows: flags.row };
  const answer = await client.post<MatchesView>(`${routeOf(name)}/match`, { body, signal });
  const { matches } = answer;
  if (flags.json) printJson(answer);
  else {
    print(table([matchHeader, ...matches.map(matchRow)]));
    matches.forEach(explainCandidates);
  }
  return matches.every(({ status }) => status === 'DONE') ? exitCodes.ok : exitCodes.someRowsFailed;
}

const matchHeader = ['ROW', 'STATUS', 'STRATEGY', 'SCORE', 'PRODUCT OR REASON'];

function matchRow({ status, strategy, score, product, reason }: MatchView, index: number): string[] {
  const found = product === null ? reason : JSON.stringify(product);
  return [String(index + 1), status, strategy, scoreOf(score), shortText(found, 300)];
}

function explainCandidates({ candidates }: MatchView, index: number): void {
  for (const { sku, brand, title, score } of candidates) {
    const words = [sku, brand, title].filter((part) => part !== null).join(', ');
    note(`Row ${index + 1} could be ${shortText(words, 200)} (${scoreOf(score)}).`);
  }
}

const scoreOf = (score: number | null): string => (score === null ? '-' : score.toFixed(3));

function addRemove(catalog: Command): void {
  const command = catalog
    .command('remove')
    .description('Delete a catalogue. Jobs that use it fail from then on.')
    .argument('<name>', 'of the catalogue', parseName)
    .addHelpText('after', '\nExample: sluice catalog remove products');
  addClientFlags(command).action(async (name: string, flags: CommonFlags, self: Command) => {
    const client = await connectClient(self);
    await client.delete(routeOf(name));
    if (flags.json) printJson({ name, removed: true });
    else print(`${name}  removed`);
  });
}

const routeOf = (name: string): string => `/api/catalogs/${encodeURIComponent(name)}`;

function parseName(text: string): string {
  if (catalogNamePattern.test(text)) return text;
  throw new UsageError(
    `The catalogue is ${JSON.stringify(text)}. Allowed: lower-case letters, digits, - and _, at most 63.`,
  );
}

function parseObject(flag: string, { text, example }: { text: string; example: string }): object {
  const allowed = `Allowed: a JSON object such as '${example}'.`;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${flag} is no JSON: ${messageOf(error)}. ${allowed}`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new UsageError(`${flag} is ${shortText(text, 80)}. ${allowed}`);
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
