import path from 'node:path';
import { parseAst } from 'vitest/node';

/** A file as the rules see it: its path from the root with forward slashes, and its text. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

/** A rule returns one sentence per breach, each beginning with `file:line`. */
export type Rule = (file: SourceFile) => string[];

const limits = { functionLines: 70, fileLines: 400, lineWidth: 120 } as const;

/** A house's commands stand on the client and the terminal of the command line, as its routes stand on kernel/http. */
const isCommand = (file: string) => /^src\/ingest\/[^/]+\/commands\//.test(file);
const isCommandKit = (file: string) => /^src\/cli\/(client|terminal)\//.test(file);

/** The only files directly under src/: they wire the layers together, so they may import any of them. */
const houseList = 'src/houses.ts';
/** What users may define for houses. */
const definitionList = 'src/definitions.ts';
const wiring = [
  houseList,
  definitionList,
  ...['app', 'config', 'embedded', 'installation', 'library', 'main', 'open-sluice', 'testing'].map(
    (name) => `src/${name}.ts`,
  ),
];

/** May use the environment, because the values never pass through the configuration. */
const environmentReaders = [
  'src/config.ts',
  'src/lib/postgres/embedded/',
  'src/ingest/knowledge/embedders/inference-runtime.ts',
];

/** The one module that may write to the terminal with `console`. */
const terminalModule = 'src/cli/terminal/output.ts';

const bannedWords = ['util', 'utils', 'helper', 'helpers', 'common', 'manager', 'data', 'info'];

export const importDirection: Rule = (file) => {
  if (!isProduct(file)) return [];
  const from = layerOf(file.path);
  if (from === null) {
    return [
      `${file.path}:1 lies directly under src/, where only ${wiring.join(', ')} may be. Move it to a layer.`,
    ];
  }
  return importsOf(file).flatMap((imported) => {
    const reason = imported.target === null ? null : refuseImport({ from, file, imported });
    return reason === null ? [] : [`${file.path}:${imported.line} imports ${imported.target}: ${reason}`];
  });
};

function refuseImport({ from, file, imported }: { from: Layer; file: SourceFile; imported: Import }) {
  const target = imported.target ?? '';
  if (!target.startsWith('src/')) return 'product code imports only from src/.';
  const to = layerOf(target);
  if (to === 'ingest' && from !== 'ingest' && ![houseList, definitionList].includes(file.path)) {
    return `only ${houseList} names houses; take what you need from its list.`;
  }
  if (from === 'wiring') return null;
  if (isCommand(file.path) && isCommandKit(target)) return null;
  if (to === null) return 'there is no such layer under src/.';
  if (!reachable[from].includes(to)) {
    return `${from} may import from ${reachable[from].join(', ')}, never upward from ${to}.`;
  }
  if (from === 'ingest' && to === 'ingest' && houseOf(file.path) !== houseOf(target)) {
    return 'houses never import each other; they meet through jobs, events and the doors of kernel/house.';
  }
  return null;
}

/**
 * A store knows SQL and nothing else: the moment it may call a service, rules start to hide in it. Stores of one house
 * may build on each other, so that a list of columns is written once.
 */
export const storeImports: Rule = (file) => {
  if (!isStore(file.path) || !isProduct(file)) return [];
  return importsOf(file).flatMap(({ target, source, typeOnly, line }) => {
    const allowed = target === null ? typeOnly : mayBeInStore({ store: file.path, target, typeOnly });
    const rule = 'a store imports only src/lib, types, and stores of its own house.';
    return allowed ? [] : [`${file.path}:${line} imports ${target ?? source}: ${rule}`];
  });
};

function mayBeInStore({ store, target, typeOnly }: { store: string; target: string; typeOnly: boolean }) {
  if (target.startsWith('src/lib/')) return true;
  const isTypes = path.posix.basename(target) === 'types.ts';
  const isOwn = placeOf(target) === placeOf(store);
  if (isOwn && (isTypes || isStore(target))) return true;
  return target.startsWith('src/kernel/') && (typeOnly || isTypes);
}

/** A house, or an area of the kernel: `src/ingest/items`, `src/kernel/jobs`. */
const placeOf = (file: string) => file.split('/').slice(0, 3).join('/');

export const sqlPlace: Rule = (file) => {
  const mayHave = isStore(file.path) || file.path.startsWith('src/lib/');
  if (!isProduct(file) || mayHave) return [];
  const advice = 'SQL belongs in a store.ts, a *-store.ts or src/lib.';
  const imports = importsOf(file)
    .filter(({ names }) => names.includes('sql'))
    .map(({ line }) => `${file.path}:${line} imports the sql template: ${advice}`);
  const texts = textsOf(file)
    .filter(({ text }) => looksLikeSql(text))
    .map(({ line }) => `${file.path}:${line} has SQL in a string: ${advice}`);
  return [...imports, ...texts];
};

/** A route reads at most; what writes is a decision, and those are made in services. */
export const routeTransactions: Rule = (file) => {
  if (!isProduct(file) || !/(^|[/-])routes(\.ts|\/)/.test(file.path)) return [];
  const lines = lineCounter(file.text);
  const writing = ['tenant', 'kernel', 'transaction', 'statement'];
  return nodesOf(file)
    .filter(({ type, callee }) => type === 'CallExpression' && isDatabaseCall(callee as Node, writing))
    .map(
      (node) => `${file.path}:${lines(node.start)} opens a writing transaction: use db.read, or a service.`,
    );
};

function isDatabaseCall(callee: Node, methods: readonly string[]): boolean {
  if (callee.type !== 'MemberExpression') return false;
  const [object, property] = [callee.object as Node, callee.property as Node];
  const owner = object.type === 'MemberExpression' ? (object.property as Node) : object;
  return (owner.name === 'db' || owner.name === '#db') && methods.includes(property.name ?? '');
}

export const fileName: Rule = (file) => {
  const base = path.posix.basename(file.path);
  const breaches: string[] = [];
  if (/^index\.(ts|mjs)$/.test(base)) {
    breaches.push(
      `${file.path}:1 is a barrel. Import from the file that defines the thing, and delete this one.`,
    );
  }
  for (const part of file.path.split('/')) {
    const stem = part.split('.')[0] ?? '';
    if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(stem))
      breaches.push(`${file.path}:1 "${part}" is not in kebab-case.`);
    if (bannedWords.includes(stem.split('-').at(-1) ?? '')) {
      breaches.push(`${file.path}:1 "${part}" does not say what is in it. Name the concept (not ${stem}).`);
    }
  }
  return breaches;
};

export const functionLength: Rule = (file) => {
  const lines = lineCounter(file.text);
  return nodesOf(file).flatMap((node) => {
    if (!isFunction(node) || isSuite(node)) return [];
    const first = lines(node.start);
    const length = lines(node.end) - first + 1;
    if (length <= limits.functionLines) return [];
    return [
      `${file.path}:${first} is a function of ${length} lines; at most ${limits.functionLines}. Split it.`,
    ];
  });
};

export function fileLength(exceptions: ReadonlyMap<string, string>): Rule {
  return (file) => {
    const length = file.text.trimEnd().split('\n').length;
    const excepted = exceptions.has(file.path);
    if (length > limits.fileLines && !excepted) {
      return [`${file.path}:${length} is a file of ${length} lines; at most ${limits.fileLines}. Split it.`];
    }
    if (length <= limits.fileLines && excepted) {
      return [`${file.path}:1 is short enough again. Take it off the list of exceptions.`];
    }
    return [];
  };
}

export const lineWidth: Rule = (file) =>
  file.text.split('\n').flatMap((line, index) => {
    const width = [...line].length;
    return width > limits.lineWidth
      ? [`${file.path}:${index + 1} is ${width} characters wide; at most ${limits.lineWidth}.`]
      : [];
  });

export const environment: Rule = (file) => {
  if (!isProduct(file) || environmentReaders.some((reader) => file.path.startsWith(reader))) return [];
  const advice = 'read the environment in src/config.ts and pass the value on.';
  const lines = lineCounter(file.text);
  const uses = nodesOf(file)
    .filter((node) => isMember(node, 'process', 'env'))
    .map((node) => `${file.path}:${lines(node.start)} uses process.env: ${advice}`);
  const imports = importsOf(file)
    .filter(({ source, names }) => /^(node:)?process$/.test(source) && names.includes('env'))
    .map(({ line }) => `${file.path}:${line} imports env of process: ${advice}`);
  return [...uses, ...imports];
};

export const consoleUse: Rule = (file) => {
  if (!isProduct(file) || file.path === terminalModule) return [];
  const lines = lineCounter(file.text);
  return nodesOf(file)
    .filter((node) => isMember(node, 'console'))
    .map((node) => {
      const advice = `log through src/lib/log.ts, or print through ${terminalModule}.`;
      return `${file.path}:${lines(node.start)} uses console: ${advice}`;
    });
};

/** Checks the names in migrations/: numbered from 0001 without a gap, each with a way up and a way down. */
export function migrationNames(names: readonly string[]): string[] {
  const breaches: string[] = [];
  const migrations = new Map<number, { stem: string; directions: string[] }[]>();
  for (const name of [...names].sort()) {
    const [, number, title, direction] = /^(\d{4})_([a-z0-9_]+)\.(up|down)\.sql$/.exec(name) ?? [];
    if (!number || !title || !direction) {
      breaches.push(`migrations/${name}:1 is not named like 0001_tenancy.up.sql or 0001_tenancy.down.sql.`);
      continue;
    }
    const same = migrations.get(Number(number)) ?? [];
    const stem = `${number}_${title}`;
    const known = same.find((migration) => migration.stem === stem);
    if (known) known.directions.push(direction);
    else same.push({ stem, directions: [direction] });
    migrations.set(Number(number), same);
  }
  const highest = Math.max(0, ...migrations.keys());
  for (let number = 1; number <= highest; number += 1) {
    const found = migrations.get(number) ?? [];
    if (found.length === 0) breaches.push(`migrations/:1 has no number ${number}, but a higher one.`);
    if (found.length > 1) {
      breaches.push(`migrations/:1 has number ${number} twice: ${found.map(({ stem }) => stem).join(', ')}.`);
    }
    for (const { stem, directions } of found) {
      for (const direction of ['up', 'down'].filter((wanted) => !directions.includes(wanted))) {
        breaches.push(`migrations/${stem}:1 has no ${stem}.${direction}.sql.`);
      }
    }
  }
  if (migrations.has(0)) breaches.push('migrations/:1 starts at 0000; the first number is 0001.');
  return breaches;
}

type Layer = 'wiring' | 'api' | 'cli' | 'ingest' | 'kernel' | 'lib';

// The command line starts the server, so it may import the wiring; nothing below may.
const reachable: Record<Layer, readonly Layer[]> = {
  wiring: ['wiring', 'api', 'cli', 'ingest', 'kernel', 'lib'],
  api: ['api', 'kernel', 'lib'],
  cli: ['cli', 'wiring', 'kernel', 'lib'],
  ingest: ['ingest', 'kernel', 'lib'],
  kernel: ['kernel', 'lib'],
  lib: ['lib'],
};

function layerOf(file: string): Layer | null {
  if (wiring.includes(file)) return 'wiring';
  const [, layer, rest] = file.split('/');
  const layers: readonly Layer[] = ['api', 'cli', 'ingest', 'kernel', 'lib'];
  return rest === undefined ? null : (layers.find((known) => known === layer) ?? null);
}

const houseOf = (file: string) => file.split('/')[2];
export const isProduct = ({ path: file }: SourceFile) =>
  file.startsWith('src/') && !file.endsWith('.test.ts');
const isStore = (file: string) => /(^|[/-])store\.ts$/.test(file);

interface Import {
  /** As written, and its path from the root when it is relative. */
  readonly source: string;
  readonly target: string | null;
  readonly names: readonly string[];
  readonly typeOnly: boolean;
  readonly line: number;
}

export function importsOf(file: SourceFile): Import[] {
  const lines = lineCounter(file.text);
  return nodesOf(file).flatMap((node) => {
    if (!/^(Import|ExportNamed|ExportAll)(Declaration|Expression)$/.test(node.type)) return [];
    const source = (node.source as Node | null)?.value;
    if (typeof source !== 'string') return [];
    const specifiers = (node.specifiers as Node[] | undefined) ?? [];
    const isType = (item: Node) => item.importKind === 'type' || item.exportKind === 'type';
    return {
      source,
      target: source.startsWith('.') ? path.posix.join(path.posix.dirname(file.path), source) : null,
      names: specifiers.map((item) => ((item.imported ?? item.local) as Node | undefined)?.name ?? ''),
      typeOnly: isType(node) || (specifiers.length > 0 && specifiers.every(isType)),
      line: lines(node.start),
    };
  });
}

// Keywords in one case and at the start: prose in messages ("Select a file from …") must not trip the rule.
const statements = [
  'select\\s[\\s\\S]*\\sfrom\\s',
  'select\\s+([\\w.]+\\(|\\d)',
  'insert\\s+into\\s',
  'update\\s+[\\w."]+\\s+(as\\s+\\w+\\s+)?set\\s',
  'delete\\s+from\\s',
  '(create|alter|drop)\\s+(table|role|index|schema|policy|function|database|type)\\s',
];
const sqlPattern = new RegExp(
  `^\\s*(with\\s[\\s\\S]*\\(\\s*)?(${statements.join('|')}|${statements.map(inCapitals).join('|')})`,
);

function inCapitals(pattern: string): string {
  return pattern.replace(/\\?[a-z]+/g, (word) => (word.startsWith('\\') ? word : word.toUpperCase()));
}

const looksLikeSql = (text: string) => sqlPattern.test(text);

function textsOf(file: SourceFile): { text: string; line: number }[] {
  const lines = lineCounter(file.text);
  return nodesOf(file).flatMap((node) => {
    const line = lines(node.start);
    if (node.type === 'Literal' && typeof node.value === 'string') return [{ text: node.value, line }];
    if (node.type !== 'TemplateLiteral') return [];
    const quasis = node.quasis as unknown as { value: { raw: string } }[];
    return [{ text: quasis.map((quasi) => quasi.value.raw).join(' x '), line }];
  });
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly name?: string;
  readonly parent?: Node | null;
  readonly value?: unknown;
  readonly [key: string]: unknown;
}

export const isFunction = ({ type }: Node) =>
  /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(type);

/** The function given to `describe` is a chapter of tests and not a function that does something. */
function isSuite(node: Node): boolean {
  const call = node.parent;
  if (call?.type !== 'CallExpression') return false;
  let callee = call.callee as Node;
  while (callee.type === 'MemberExpression' || callee.type === 'CallExpression') {
    callee = (callee.type === 'MemberExpression' ? callee.object : callee.callee) as Node;
  }
  return callee.name === 'describe';
}

function isMember(node: Node, object: string, property?: string): boolean {
  if (node.type !== 'MemberExpression' || (node.object as Node).name !== object) return false;
  if (property === undefined) return true;
  const named = node.property as Node;
  return named.name === property || named.value === property;
}

const parsed = new WeakMap<SourceFile, Node[]>();

/** Every node of the file's syntax tree, parents first. */
export function nodesOf(file: SourceFile): Node[] {
  const known = parsed.get(file);
  if (known) return known;
  const nodes: Node[] = [];
  const visit = (value: unknown, parent: Node | null): void => {
    if (Array.isArray(value)) {
      for (const item of value) visit(item, parent);
    } else if (isNode(value)) {
      const node: Node = { ...value, parent };
      nodes.push(node);
      for (const [key, child] of Object.entries(value)) if (key !== 'parent') visit(child, node);
    }
  };
  visit(parseAst(file.text, { lang: langOf(file.path) }), null);
  parsed.set(file, nodes);
  return nodes;
}

function langOf(file: string): 'ts' | 'tsx' | 'js' {
  if (file.endsWith('.tsx')) return 'tsx';
  return file.endsWith('.ts') ? 'ts' : 'js';
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

export function lineCounter(text: string): (offset: number) => number {
  const starts = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return (offset) => {
    let line = 0;
    while (line + 1 < starts.length && (starts[line + 1] ?? 0) <= offset) line += 1;
    return line + 1;
  };
}
