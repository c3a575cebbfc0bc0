import type { Command } from 'commander';
import { addClientFlags, connectClient } from '../../../cli/client/client.ts';
import { note, print, printJson } from '../../../cli/terminal/output.ts';

interface DemoView {
  tenant_id: string;
  name: string;
  login: string;
}

/** Erasing and filling take longer than a usual call. */
const demoTimeoutMs = 120_000;

export function addDemoCommand(program: Command): void {
  const command = program
    .command('demo')
    .description('Start a demo with life in all five pipelines, or remove it with everything of it.')
    .option('--remove', 'remove the demo');
  addClientFlags(command).action(
    async ({ remove, json }: { remove?: boolean; json?: boolean }, self: Command) => {
      const client = await connectClient(self);
      if (remove) {
        await client.delete('/api/demo');
        return note('The demo and everything of it are gone.');
      }
      const demo = await client.post<DemoView>('/api/demo', { timeoutMs: demoTimeoutMs });
      if (json) return printJson(demo);
      print(`The demo is the tenant ${demo.tenant_id} (${demo.name}).`);
      print(`  open      ${client.urlOf(demo.login)} (once, within 30 minutes)`);
      print('  remove    sluice demo --remove');
    },
  );
}
