// psql as a person would run it, as a separate process.
import { spawn } from 'node:child_process';
import { join } from 'node:path';

export function runPsql(server, { database, command }) {
  return new Promise((resolve, reject) => {
    const words = [
      '--no-psqlrc',
      '--quiet',
      '--set',
      'ON_ERROR_STOP=1',
      '--command',
      command,
      database.ownerUrl,
    ];
    const child = spawn(join(server.bin, 'psql'), words, { stdio: ['ignore', 'ignore', 'pipe'] });
    let errors = '';
    child.stderr.setEncoding('utf8').on('data', (text) => {
      errors += text;
    });
    child.once('error', reject);
    child.once('exit', (code) =>
      code === 0 ? resolve() : reject(new Error(`psql ended with ${code}: ${errors}`)),
    );
  });
}
