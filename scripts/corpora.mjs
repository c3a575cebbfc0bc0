// Reads published collections of CSV and JSON files with the readers of the intake and reports what differs.
// Usage: node scripts/corpora.mjs CSV_SPECTRUM_FOLDER JSON_TEST_SUITE_FOLDER (either may be "-"); needs a build.
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Readable } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import { openRows } from '../dist/modules/lib/rows/open-rows.js';

const [csvFolder = '-', jsonFolder = '-'] = process.argv.slice(2);
const failures = [];
const counts = {};
if (csvFolder !== '-') await checkCsv(csvFolder);
if (jsonFolder !== '-') await checkJson(jsonFolder);
console.log(counts);
for (const failure of failures) console.log(failure);
process.exitCode = failures.length > 0 ? 1 : 0;

async function checkCsv(folder) {
  for (const name of await readdir(join(folder, 'csvs'))) {
    const bytes = await readFile(join(folder, 'csvs', name));
    const meant = JSON.parse(await readFile(join(folder, 'json', `${basename(name, '.csv')}.json`), 'utf8'));
    const outcome = await read(bytes, { fileName: name, repair: true });
    count(`csv ${outcome.rows ? 'read' : 'refused'}`);
    if (!outcome.rows) failures.push(`${name}: refused, ${outcome.message}`);
    else if (!isDeepStrictEqual(outcome.rows, Array.isArray(meant) ? meant : [meant])) {
      failures.push(`${name}: read ${JSON.stringify(outcome.rows)}, meant ${JSON.stringify(meant)}`);
    }
    if (outcome.notes?.length) console.log(`${name}: ${outcome.notes.map(({ code }) => code).join(', ')}`);
  }
}

/** A row is an object, so each document is also read as the value of a column: line by line, and in an array. */
async function checkJson(folder) {
  const wrappings = [
    (bytes) => Buffer.concat([Buffer.from('{"value":'), bytes, Buffer.from('}\n')]),
    (bytes) => Buffer.concat([Buffer.from('[{"value":'), bytes, Buffer.from('}]')]),
  ];
  for (const name of await readdir(folder)) {
    const bytes = await readFile(join(folder, name));
    const asIs = await read(bytes, { fileName: 'rows.json' });
    if (name.startsWith('n_') && asIs.rows) failures.push(`${name}: accepted as a file`);
    if (asIs.code === 'unknown') failures.push(`${name}: ${asIs.message}`);
    for (const wrap of wrappings) {
      const { rows, code, message } = await read(wrap(bytes), { fileName: 'rows.json' });
      count(`${name.slice(0, 2)} ${rows ? 'accepted' : `refused: ${code}`}`);
      if (code === 'unknown') failures.push(`${name}: ${message}`);
      if (name.startsWith('y_') && !rows) failures.push(`${name}: refused, ${message}`);
      if (name.startsWith('n_') && rows) failures.push(`${name}: accepted as a value`);
    }
  }
}

async function read(bytes, options) {
  try {
    const reader = await openRows(Readable.from([bytes]), options);
    const rows = [];
    for (let batch = await reader.read(1_000, 1e6); batch !== null; batch = await reader.read(1_000, 1e6)) {
      rows.push(...batch.map(({ inputJson }) => JSON.parse(inputJson)));
    }
    return { rows, notes: reader.notes };
  } catch (error) {
    return { code: error.definition ? error.code : 'unknown', message: error.message };
  }
}

function count(what) {
  counts[what] = (counts[what] ?? 0) + 1;
}
