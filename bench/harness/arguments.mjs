// The command line of the runner.
export const benchNames = [
  'items',
  'jobs',
  'tasks',
  'ingest',
  'upload',
  'knowledge',
  'passages',
  'recall',
  'catalog',
  'catalog-speed',
  'pages',
  'export',
  'memory',
  'pickup',
  'through',
  'backlog',
  'fleet',
  'held',
  'retention',
  'fairness',
  'neighbours',
  'rescue',
  'syncs',
  'start',
];

export const usage = `npm run bench -- [names…] [options]

  names         ${benchNames.join(' ')} (default: all, in this order)
  --rounds <n>  how often each contender is measured, in turns with the others (default 5; held 1)
  --size <n>    rows, jobs, seconds (held) or repetitions instead of the benchmark's own number; a run with another
                size or with fewer rounds than the default is a trial and leaves the published pages alone
  --collection <folder>
                recall only: also measure the searches on this published test collection; may be given again
  --sweep       try the settings of contenders first, and record the best ones in bench/settings.json
  --strict      exit with code 1 when a target is not reached
  --no-build    measure dist/ as it is`;

/** Throws an error with `isUsage` that says what is allowed. */
export function parseArguments(given) {
  const options = {
    names: [],
    rounds: null,
    size: null,
    collections: [],
    sweep: false,
    strict: false,
    build: true,
    help: false,
  };
  const rest = [...given];
  while (rest.length > 0) {
    const word = rest.shift();
    if (word === '--rounds') options.rounds = wholeNumber(word, rest.shift());
    else if (word === '--size') options.size = wholeNumber(word, rest.shift());
    else if (word === '--collection') options.collections.push(folder(word, rest.shift()));
    else if (word === '--sweep') options.sweep = true;
    else if (word === '--strict') options.strict = true;
    else if (word === '--no-build') options.build = false;
    else if (word === '--help' || word === '-h') options.help = true;
    else if (benchNames.includes(word)) options.names.push(word);
    else throw usageError(`There is no benchmark or option "${word}".`);
  }
  if (options.names.length === 0) options.names = benchNames;
  return options;
}

function wholeNumber(flag, text) {
  const number = Number(text);
  if (text !== undefined && Number.isInteger(number) && number >= 1 && number <= 100_000_000) return number;
  throw usageError(`${flag} is "${text ?? ''}". Allowed: a whole number from 1 to 100000000.`);
}

function folder(flag, text) {
  if (text !== undefined && !text.startsWith('--')) return text;
  throw usageError(`${flag} needs the folder of a collection.`);
}

function usageError(message) {
  return Object.assign(new Error(`${message}\n\n${usage}`), { isUsage: true });
}
