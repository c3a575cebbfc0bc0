import { readFile } from 'node:fs/promises';
import { type Command, Option } from 'commander';
import { addClientFlags, connectClient } from '../../../cli/client/client.ts';
import { parseKb, routeOf } from '../../../cli/client/knowledge-bases.ts';
import { wholeNumber } from '../../../cli/terminal/arguments.ts';
import { shortText } from '../../../cli/terminal/cells.ts';
import { UsageError } from '../../../cli/terminal/exit.ts';
import { print, printJson } from '../../../cli/terminal/output.ts';

interface EvalFlags {
  kb: string;
  mode: string;
  k: number;
  json?: boolean;
}

interface Score {
  rank: number | null;
  ndcg: number;
}

interface Means {
  generation: number;
  recall: number;
  ndcg: number;
  mrr: number;
}

interface EvaluationView extends Means {
  questions: number;
  k: number;
  mode: string;
  earlier: Means | null;
  better: number;
  worse: { query: string; before: Score; now: Score }[];
}

const evaluationTimeoutMs = 600_000;
const shownWorse = 20;

export function addKnowledgeCommand(program: Command): void {
  const group = program.command('knowledge').description('Measure knowledge bases.');
  const command = group
    .command('eval')
    .description(
      'Ask questions with known answers: recall, nDCG, and what got worse since the last build of the index.',
    )
    .argument('<file>', 'JSON lines: {"query": "…", "relevant": ["file:manual.md"]}')
    .requiredOption('--kb <name>', 'the knowledge base', parseKb)
    .addOption(
      new Option('--mode <mode>', 'how to search').choices(['hybrid', 'vector', 'text']).default('hybrid'),
    )
    .option('--k <n>', 'how many documents count', wholeNumber('--k', { min: 1, max: 50 }), 10);
  addClientFlags(command).action(async (file: string, flags: EvalFlags, self: Command) => {
    const { kb, mode, k, json } = flags;
    const questions = await readQuestions(file);
    const client = await connectClient(self);
    const made = await client.post<EvaluationView>(`${routeOf(kb)}/evaluations`, {
      body: { questions, mode, k },
      timeoutMs: evaluationTimeoutMs,
    });
    if (json) return printJson(made);
    print(describe(made));
  });
}

async function readQuestions(file: string): Promise<unknown[]> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`The file ${file} cannot be read (${error.code}).`);
  });
  const lines = text.split('\n').map((line, at) => ({ line: line.trim(), number: at + 1 }));
  return lines
    .filter(({ line }) => line !== '')
    .map(({ line, number }) => {
      try {
        return JSON.parse(line);
      } catch {
        throw new UsageError(`Line ${number} of ${file} is not JSON. Each line is one question.`);
      }
    });
}

function describe({ questions, k, mode, earlier, better, worse, ...now }: EvaluationView): string {
  const before = earlier === null ? '' : `   generation ${earlier.generation}: `;
  const row = (name: string, value: keyof Means) =>
    `${name.padEnd(11)} ${now[value].toFixed(3)}${earlier ? `${before}${earlier[value].toFixed(3)}` : ''}`;
  const head = `${questions} questions, ${mode}, generation ${now.generation}`;
  const figures = [row(`recall@${k}`, 'recall'), row(`nDCG@${k}`, 'ndcg'), row('MRR', 'mrr')];
  const changes = earlier === null ? [] : [`${better} better, ${worse.length} worse`];
  const place = ({ rank }: Score) => (rank === null ? 'not found' : `place ${rank}`);
  const examples = worse
    .slice(0, shownWorse)
    .map(({ query, before: old, now: new_ }) => `  ${shortText(query, 80)}: ${place(old)} → ${place(new_)}`);
  return [head, ...figures, ...changes, ...examples].join('\n');
}
