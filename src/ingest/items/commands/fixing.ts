import type { Command } from 'commander';
import { addClientFlags, connectClient } from '../../../cli/client/client.ts';
import { parseJobId } from '../../../cli/terminal/arguments.ts';
import { UsageError } from '../../../cli/terminal/exit.ts';
import { note, print, printJson } from '../../../cli/terminal/output.ts';

interface Failure {
  status: string;
  errorCode: string | null;
  count: number;
  firstRowNo: number;
  example: string | null;
  next: string;
  canRetry: boolean;
}

/** What people do about rows that failed. */
export function addFixing(items: Command): void {
  addFailures(items);
  addCorrect(items);
  addDelete(items);
}

function addFailures(items: Command): void {
  const command = items
    .command('failures')
    .description('Show why rows failed: each reason with its count, an example and what to do.')
    .argument('<job>', 'its id', parseJobId);
  addClientFlags(command).action(async (jobId: string, flags: { json?: boolean }, self: Command) => {
    const client = await connectClient(self);
    const { data } = await client.get<{ data: Failure[] }>(`/api/jobs/${jobId}/failures`);
    if (flags.json) return printJson(data);
    for (const { status, errorCode, count, firstRowNo, example, next } of data) {
      print(`${count} ${errorCode ?? status}, first in row ${firstRowNo}: ${example ?? ''}`);
      note(`  ${next}`);
    }
    if (data.length === 0) note('No row has failed.');
  });
}

function addCorrect(items: Command): void {
  const command = items
    .command('correct')
    .description('Correct one value of a row and process the row again.')
    .argument('<job>', 'its id', parseJobId)
    .argument('<item>', 'the id of the row, as the grid shows it')
    .argument('<column>', 'the column of the file')
    .argument('<value>', 'the new value, as text');
  addClientFlags(command).action(
    async (
      jobId: string,
      item: string,
      column: string,
      value: string,
      flags: { json?: boolean },
      self: Command,
    ) => {
      if (!/^\d{1,18}$/.test(item)) {
        throw new UsageError(`The row is "${item}". Allowed: the id of a row, a number.`);
      }
      const client = await connectClient(self);
      const job = await client.patch<object>(`/api/jobs/${jobId}/items/${item}`, { body: { column, value } });
      if (flags.json) printJson(job);
      else note(`Row ${item} has the new value and runs again.`);
    },
  );
}

function addDelete(items: Command): void {
  const command = items
    .command('delete')
    .description('Delete an ended job with its rows, results and files.')
    .argument('<job>', 'its id', parseJobId);
  addClientFlags(command).action(async (jobId: string, _flags: object, self: Command) => {
    const client = await connectClient(self);
    await client.delete(`/api/jobs/${jobId}`);
    note(`Deleted job ${jobId}.`);
  });
}
