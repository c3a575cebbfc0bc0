// The report of a benchmark: a table on the screen, JSON under bench/results/, a chart and a page in docs/.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { benchNames } from './arguments.mjs';
import { chartOf } from './chart.mjs';
import { format } from './figures.mjs';

const resultsDir = fileURLToPath(new URL('../results', import.meta.url));
const docsDir = fileURLToPath(new URL('../../docs/benchmarks', import.meta.url));

export async function publish(report) {
  const { bench, isTrial } = report;
  console.table(screenRows(report));
  for (const line of report.details) console.log(line);
  await mkdir(resultsDir, { recursive: true });
  const json = `${JSON.stringify(resultOf(report), null, 2)}\n`;
  if (isTrial) {
    await writeFile(`${resultsDir}/${bench.name}.tmp.json`, json);
    console.log(`A trial: bench/results/${bench.name}.tmp.json; the published pages stay as they are.`);
    return;
  }
  await mkdir(docsDir, { recursive: true });
  await writeFile(`${resultsDir}/${bench.name}.json`, json);
  await writeFile(`${docsDir}/${bench.name}.svg`, chartOf(report));
  await writeFile(`${docsDir}/${bench.name}.md`, pageOf(report));
  await writeIndex();
  console.log(`Written: bench/results/${bench.name}.json, docs/benchmarks/${bench.name}.md and .svg`);
}

/** How many rounds a published run has, unless more were asked for. */
export function usualRounds(bench) {
  return bench.rounds ?? 5;
}

export function showVerdicts(verdicts) {
  for (const verdict of verdicts) console.log(`  ${sentenceOf(verdict)}`);
}

function sentenceOf({ target, reached, figure }) {
  return `${reached ? 'reached' : 'NOT reached'}: ${target} (${figure})`;
}

function screenRows({ bench, series }) {
  return Object.fromEntries(
    series.map(({ label, summary }) => [
      label,
      Object.fromEntries(bench.metrics.map(({ key, title }) => [title, cellOf(summary[key])])),
    ]),
  );
}

function cellOf(figure) {
  if (figure === null) return '–';
  const range = figure.min === figure.max ? '' : ` (${format(figure.min)} – ${format(figure.max)})`;
  return `${format(figure.median)}${range}`;
}

function resultOf({ bench, size, rounds, startedAt, machine, series, verdicts, checks }) {
  return {
    name: bench.name,
    measuredAt: startedAt.toISOString(),
    command: commandOf(bench, { rounds }),
    size,
    machine,
    checks,
    series: series.map(({ label, note, settings, summary, rounds: figures }) => ({
      label,
      note,
      settings,
      summary,
      rounds: figures,
    })),
    verdicts,
  };
}

function commandOf(bench, { rounds }) {
  return `npm run bench -- ${bench.name}${rounds === usualRounds(bench) ? '' : ` --rounds ${rounds}`}`;
}

function pageOf(report) {
  const { bench, rounds, startedAt, machine, series, verdicts } = report;
  const lines = [
    `# ${bench.title}`,
    '',
    `<!-- Written by \`${commandOf(bench, report)}\`. -->`,
    '',
    bench.about.trim(),
    '',
    `    ${commandOf(bench, report)}`,
    '',
    `![${bench.title}](${bench.name}.svg)`,
    '',
    `| | ${bench.metrics.map(({ title }) => title).join(' | ')} |`,
    `| --- |${' ---: |'.repeat(bench.metrics.length)}`,
    ...series.map(
      ({ label, summary }) =>
        `| ${label} | ${bench.metrics.map(({ key }) => cellOf(summary[key])).join(' | ')} |`,
    ),
    '',
    `${roundsSentence(rounds)} Size: ${report.size.toLocaleString('en-US')}.`,
    '',
    ...(bench.details?.(series) ?? []),
    '| target | | |',
    '| --- | --- | --- |',
    ...verdicts.map(verdictRow),
    '',
    ...report.details,
    ...settingsLines(series),
    ...machineLines(machine, startedAt),
    `Every round is in [bench/results/${bench.name}.json](../../bench/results/${bench.name}.json).`,
  ];
  return `${lines.join('\n')}\n`;
}

function roundsSentence(rounds) {
  return rounds === 1 ? 'One round.' : `Median of ${rounds} rounds in turns, and the range.`;
}

function machineLines({ cpu, cores, memoryGb, node, versions, postgresSettings }, startedAt) {
  const settings = Object.entries(postgresSettings).map(([name, value]) => `\`${name}=${value}\``);
  const server = settings.length > 0 ? `with ${settings.join(', ')}` : 'with the settings of the product';
  const peers = ['graphile-worker', 'pg-boss', 'exceljs', '@langchain/core'].map(
    (name) => `${name} ${versions[name]}`,
  );
  return [
    `Measured on ${startedAt.toISOString().slice(0, 10)}: ${cpu}, ${cores} cores, ${memoryGb} GB.`,
    `Node ${node.slice(1)} for everybody; Sluice ${versions.sluice}, ${peers.join(', ')}.`,
    `PostgreSQL ${versions.postgres}`,
    `${server}.`,
  ];
}

function settingsLines(series) {
  const told = series.filter(({ note, settings }) => note || settings);
  if (told.length === 0) return [];
  return [
    'Settings and notes:',
    '',
    ...told.map(({ label, note, settings }) =>
      [`- ${label}:`, note, settings && `\`${JSON.stringify(settings)}\``].filter(Boolean).join(' '),
    ),
    '',
  ];
}

/** docs/benchmarks/README.md: every benchmark with the verdicts of its last published run. */
export async function writeIndex() {
  const sections = [];
  for (const name of benchNames) sections.push(...(await sectionOf(name)));
  const overview = await readFile(`${docsDir}/overview.md`, 'utf8');
  const head = [...indexHead, '## Overview', '', overview.slice(overview.indexOf('-->') + 3).trim(), ''];
  await writeFile(`${docsDir}/README.md`, `${[...head, ...sections].join('\n')}\n`);
}

const indexHead = [
  '# Benchmarks',
  '',
  '<!-- Written by `npm run bench`. -->',
  '',
  'Every figure comes from a command that anybody can run: `npm run bench`, or `npm run bench -- items jobs` for some',
  'of them (`npm run bench -- --help`). Each benchmark starts its own PostgreSQL (Debian, fsync and synchronous_commit',
  'on). It measures all candidates in turns on the same machine, Node and settings, and checks that the work was done.',
  'Then it writes its table, its chart and all rounds. The settings of the peers come from a sweep (`--sweep`) and are in',
  '[bench/settings.json](../../bench/settings.json). Use a quiet machine.',
  '',
  'Which faults Sluice survives: [faults](faults.md). Whether the tests notice broken code: [mutants](mutants.md).',
  '',
];

async function sectionOf(name) {
  const { bench } = await import(`../benches/${name}.mjs`);
  const text = await readFile(`${resultsDir}/${name}.json`, 'utf8').catch((error) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (text === null) return [`## ${bench.title}`, '', `Not published yet: \`npm run bench -- ${name}\``, ''];
  const { verdicts } = JSON.parse(text);
  return [
    `## [${bench.title}](${name}.md)`,
    '',
    '| target | | |',
    '| --- | --- | --- |',
    ...verdicts.map(verdictRow),
    '',
  ];
}

function verdictRow({ target, reached, figure }) {
  return `| ${target} | ${reached ? 'reached' : 'not reached'} | ${figure} |`;
}
