import type { Command } from 'commander';
import { addClientFlags, connectClient } from '../../../cli/client/client.ts';
import { readJson } from '../../../cli/terminal/arguments.ts';
import { UsageError } from '../../../cli/terminal/exit.ts';
import { note, print, printJson, table } from '../../../cli/terminal/output.ts';

interface Summary {
  name: string;
  title: string;
  is_built_in: boolean;
  version: number | null;
  languages: string[];
}

interface PlatformView {
  name: string;
  version: number | null;
  profile: { title: string };
}

const route = '/api/uploads/platforms';

/** `sluice uploads platforms …`: how reports are read. */
export function addUploadsCommand(program: Command): void {
  const platforms = program
    .command('uploads')
    .description('Configure uploads.')
    .command('platforms')
    .description('The platforms whose reports can be uploaded, and those of your own.');
  addList(platforms);
  addShow(platforms);
  addSet(platforms);
  addDelete(platforms);
}

function addList(platforms: Command): void {
  const command = platforms.command('list', { isDefault: true }).description('List the platforms.');
  addClientFlags(command).action(async (flags: { json?: boolean }, self: Command) => {
    const client = await connectClient(self);
    const { data } = await client.get<{ data: Summary[] }>(route);
    if (flags.json) return printJson(data);
    const rows = data.map(({ name, title, is_built_in: isBuiltIn, version, languages }) => [
      name,
      title,
      isBuiltIn ? 'built in' : `version ${version ?? 1}`,
      languages.join(' '),
    ]);
    print(table([['NAME', 'TITLE', 'PROFILE', 'LANGUAGES'], ...rows]));
  });
}

function addShow(platforms: Command): void {
  const command = platforms
    .command('show')
    .description('Print the profile of a platform, as JSON that `set` takes.')
    .argument('<name>', 'its name', parseName);
  addClientFlags(command).action(async (name: string, _flags: object, self: Command) => {
    const client = await connectClient(self);
    const { profile } = await client.get<PlatformView>(`${route}/${name}`);
    printJson(profile);
  });
}

function addSet(platforms: Command): void {
  const command = platforms
    .command('set')
    .description('Define a platform of your own, or a new version of it.')
    .argument('<name>', 'its name', parseName)
    .argument('<profile>', 'its profile, as JSON or as @file');
  addClientFlags(command).action(
    async (name: string, text: string, flags: { json?: boolean }, self: Command) => {
      const example = '{"aliases": {"metric_date": "Day", "campaign_name": "Spot", "spend": "Paid"}}';
      const { value } = await readJson('The profile', { text, example });
      if (typeof value !== 'object' || value === null || Array.isArray(value)) {
        throw new UsageError(`The profile is no JSON object. Allowed: JSON such as '${example}', or @file.`);
      }
      const client = await connectClient(self);
      const saved = await client.put<PlatformView>(`${route}/${name}`, { body: value });
      if (flags.json) printJson(saved);
      else note(`Saved ${saved.profile.title} as ${saved.name}, version ${saved.version ?? 1}.`);
    },
  );
}

function addDelete(platforms: Command): void {
  const command = platforms
    .command('delete')
    .description('Delete a platform of your own; its uploads stay.')
    .argument('<name>', 'its name', parseName);
  addClientFlags(command).action(async (name: string, flags: { json?: boolean }, self: Command) => {
    const client = await connectClient(self);
    await client.delete(`${route}/${name}`);
    if (flags.json) printJson({ name, deleted: true });
    else note(`Deleted the platform ${name}.`);
  });
}

function parseName(text: string): string {
  if (/^[a-z][a-z0-9_-]{1,39}$/.test(text)) return text;
  throw new UsageError(
    `The platform is ${JSON.stringify(text)}. Allowed: 2 to 40 lower-case letters, digits, - and _, a letter first.`,
  );
}
