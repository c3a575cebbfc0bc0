import type { Command } from 'commander';
import { addClientFlags, connectClient } from '../../../cli/client/client.ts';
import { readJson } from '../../../cli/terminal/arguments.ts';
import { note, print, printJson } from '../../../cli/terminal/output.ts';

interface Template {
  name: string;
  processor: string;
  options: object;
  mapping: object | null;
}

interface SaveFlags {
  json?: boolean;
  processor: string;
  options?: string;
  mapping?: string;
}

/** Saved templates: `items import --template NAME` uses one. */
export function addTemplates(items: Command): void {
  const templates = items
    .command('templates')
    .description('Save what happens to the rows of a file under a name: processor, options and mapping.');
  addClientFlags(templates.command('list').description('List the saved templates.')).action(
    async (flags: { json?: boolean }, self: Command) => {
      const client = await connectClient(self);
      const { data } = await client.get<{ data: Template[] }>('/api/items/templates');
      if (flags.json) return printJson(data);
      for (const { name, processor } of data) print(`${name}\t${processor}`);
      if (data.length === 0) note('There is no template yet; `items templates save` makes one.');
    },
  );
  addSave(templates);
  const drop = templates
    .command('delete')
    .description('Delete a template; jobs that were made with it stay.')
    .argument('<name>', 'its name');
  addClientFlags(drop).action(async (name: string, _flags: object, self: Command) => {
    const client = await connectClient(self);
    await client.delete(`/api/items/templates/${encodeURIComponent(name)}`);
    note(`Deleted template ${name}.`);
  });
}

function addSave(templates: Command): void {
  const command = templates
    .command('save')
    .description('Save a template, or replace the one of this name.')
    .argument('<name>', 'its name')
    .requiredOption('--processor <name>', 'what happens to each row')
    .option('--options <json>', 'the options of the processor, as JSON or as @file')
    .option('--mapping <json>', 'new names of columns, as JSON or as @file; null leaves a column out');
  addClientFlags(command).action(async (name: string, flags: SaveFlags, self: Command) => {
    const options = await given('--options', { text: flags.options, example: '{"rules": []}' });
    const mapping = await given('--mapping', { text: flags.mapping, example: '{"Article": "sku"}' });
    const client = await connectClient(self);
    const body = { processor: flags.processor, ...(options && { options }), ...(mapping && { mapping }) };
    const saved = await client.put<Template>(`/api/items/templates/${encodeURIComponent(name)}`, { body });
    if (flags.json) printJson(saved);
    else note(`Saved template ${saved.name}.`);
  });
}

async function given(
  flag: string,
  { text, example }: { text: string | undefined; example: string },
): Promise<object | undefined> {
  if (text === undefined) return undefined;
  return JSON.parse((await readJson(flag, { text, example })).json) as object;
}
