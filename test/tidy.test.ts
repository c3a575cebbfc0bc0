import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { crowdedFolders, folderCycles } from './tidy-folders.ts';
import { patternSource } from './tidy-patterns.ts';
import {
  consoleUse,
  environment,
  fileLength,
  fileName,
  functionLength,
  importDirection,
  lineWidth,
  migrationNames,
  type Rule,
  routeTransactions,
  sqlPlace,
  storeImports,
} from './tidy-rules.ts';

const root = path.join(import.meta.dirname, '..');

/** Files that may be longer than the rest, each with the reason. */
const longFiles = new Map<string, string>([]);

const codeFolders = ['src', 'test', 'scripts', 'examples', 'console/src'];
/** Written by a program, for programs. */
const generated = 'console/src/api/types.ts';
const code = codeFolders
  .flatMap((folder) => read(folder, /\.(tsx?|mjs)$/))
  .filter((file) => file.path !== generated);
const migrations = read('migrations', /\.sql$/);

describe('the repository', () => {
  test('is found by these checks', () => {
    expect(code.map((file) => file.path)).toEqual(
      expect.arrayContaining([
        'src/lib/postgres/sql.ts',
        'scripts/build.mjs',
        'test/tidy.test.ts',
        'console/src/main.tsx',
      ]),
    );
    expect(migrations.length).toBeGreaterThan(0);
  });

  test('imports only downward: api and cli, ingest, kernel, lib', () => check(importDirection));
  test('has stores that import only lib and types', () => check(storeImports));
  test('has SQL only in stores and lib', () => check(sqlPlace));
  test('opens no writing transaction in a route', () => check(routeTransactions));
  test('has file names that say what is in the file', () => check(fileName));
  test('has no function longer than a screen', () => check(functionLength));
  test('has no file that is too long', () => {
    check(fileLength(longFiles));
    const gone = [...longFiles.keys()].filter((name) => !code.some((file) => file.path === name));
    expect(gone, 'exceptions for files that do not exist').toEqual([]);
  });
  test('has no folder without rooms that needs them', () => {
    expect(crowdedFolders(code, [])).toEqual([]);
  });
  test('has no two folders beside each other that import each other', () => {
    expect(folderCycles(code)).toEqual([]);
  });
  test('has no line that is too wide', () => check(lineWidth, [...code, ...migrations]));
  test('reads the environment only in its configuration', () => check(environment));
  test('writes to the terminal in one place', () => check(consoleUse));
  test('makes no pattern while it runs, except in linear time', () => check(patternSource));
  test('has migrations without a gap, each with a down migration', () => {
    expect(migrationNames(readdirSync(path.join(root, 'migrations')))).toEqual([]);
  });
});

// A check that cannot fail proves nothing: each rule is shown a breach, and the nearest thing that is allowed.
describe('importing', () => {
  const imports = (file: string, from: string) =>
    breaches(importDirection, file, `import { a } from '${from}';`);

  test('upward is refused, with file and line', () => {
    const found = breaches(
      importDirection,
      'src/lib/ids.ts',
      "\nimport { a } from '../kernel/jobs/claim.ts';",
    );
    expect(found).toEqual([
      expect.stringMatching(/^src\/lib\/ids\.ts:2 imports src\/kernel\/jobs\/claim\.ts/),
    ]);
    expect(imports('src/kernel/jobs/claim.ts', '../../ingest/items/types.ts')).toHaveLength(1);
    expect(imports('src/kernel/jobs/claim.ts', '../../api/problem.ts')).toHaveLength(1);
    expect(imports('src/ingest/items/routes.ts', '../../app.ts')).toHaveLength(1);
    expect(imports('src/api/server.ts', '../app.ts')).toHaveLength(1);
    expect(imports('src/api/server.ts', '../cli/output.ts')).toHaveLength(1);
  });

  test('upward is refused in every form of import', () => {
    const forms = [
      "import '../api/a.ts';",
      "import type { A } from '../api/a.ts';",
      "export { a } from '../api/a.ts';",
      "export * from '../api/a.ts';",
      "export const load = () => import('../api/a.ts');",
    ];
    for (const form of forms) expect(breaches(importDirection, 'src/lib/ids.ts', form), form).toHaveLength(1);
  });

  test('downward, within a layer and from wiring is allowed', () => {
    expect(imports('src/api/server.ts', '../kernel/tenancy/types.ts')).toEqual([]);
    expect(imports('src/kernel/jobs/claim.ts', '../tenancy/types.ts')).toEqual([]);
    expect(imports('src/cli/commands/serve.ts', '../app.ts')).toEqual([]);
    expect(imports('src/app.ts', './api/server.ts')).toEqual([]);
    expect(imports('src/lib/ids.ts', 'node:crypto')).toEqual([]);
  });

  test('a house is refused to everything outside it but the list of houses', () => {
    for (const file of [
      'src/app.ts',
      'src/api/server.ts',
      'src/cli/program.ts',
      'src/kernel/jobs/claim.ts',
    ]) {
      const from = path.posix.relative(path.posix.dirname(file), 'src/ingest/items/types.ts');
      expect(imports(file, from.startsWith('.') ? from : `./${from}`), file).toHaveLength(1);
    }
    expect(imports('src/houses.ts', './ingest/items/house.ts')).toEqual([]);
    expect(imports('src/cli/program.ts', '../houses.ts')).toEqual([]);
  });

  test('the client and the terminal are allowed to a house’s commands, and to nothing else of it', () => {
    expect(imports('src/ingest/items/commands/items.ts', '../../../cli/client/client.ts')).toEqual([]);
    expect(imports('src/ingest/items/commands/items.ts', '../../../cli/program.ts')).toHaveLength(1);
    expect(imports('src/ingest/items/service.ts', '../../cli/client/client.ts')).toHaveLength(1);
  });

  test('between houses is refused, within a house allowed', () => {
    expect(imports('src/ingest/items/service.ts', '../uploads/types.ts')).toHaveLength(1);
    expect(imports('src/ingest/items/service.ts', './store.ts')).toEqual([]);
  });

  test('from outside src is refused in the product and allowed in its tests', () => {
    expect(imports('src/lib/ids.ts', '../../test/database.ts')).toHaveLength(1);
    expect(imports('src/lib/ids.test.ts', '../../test/database.ts')).toEqual([]);
  });

  test('a file directly under src that is not wiring is refused', () => {
    expect(breaches(importDirection, 'src/stuff.ts', '')).toHaveLength(1);
  });

  test('a service, a package or a sibling is refused in a store', () => {
    const imported = (line: string, file = 'src/ingest/items/store.ts') => breaches(storeImports, file, line);
    expect(imported("import { a } from './service.ts';")).toHaveLength(1);
    expect(imported("import { a } from '../../kernel/jobs/claim.ts';")).toHaveLength(1);
    expect(imported("import { z } from 'zod';")).toHaveLength(1);
    expect(imported("import { a } from './errors.ts';", 'src/kernel/files/file-store.ts')).toHaveLength(1);
    expect(imported("import { sql } from '../../lib/sql.ts';")).toEqual([]);
    expect(imported("import { states } from './types.ts';")).toEqual([]);
    expect(imported("import type { Job } from '../../kernel/jobs/claim.ts';")).toEqual([]);
    expect(imported("import { a } from './service.ts';", 'src/ingest/items/restore.ts')).toEqual([]);
  });
});

describe('SQL', () => {
  const statement = 'export const q = `\n  select id\n    from jobs\n where status = 1`;';

  test('outside a store is refused, as a string and as a template', () => {
    expect(breaches(sqlPlace, 'src/ingest/items/service.ts', statement)).toEqual([
      expect.stringMatching(/^src\/ingest\/items\/service\.ts:1 has SQL/),
    ]);
    const others = [
      'select set_config($1, $2, true)',
      'insert into jobs values (1)',
      'INSERT INTO jobs VALUES (1)',
      'update jobs set status = 1',
      'delete from jobs where id = 1',
      'with due as (select id from jobs) delete from jobs',
      'drop table jobs',
    ];
    for (const text of others) {
      expect(breaches(sqlPlace, 'src/api/a.ts', `export const q = '${text}';`), text).toHaveLength(1);
    }
    expect(breaches(sqlPlace, 'src/api/a.ts', "import { sql } from '../lib/sql.ts';")).toHaveLength(1);
  });

  test('in a store, in lib and in tests is allowed', () => {
    const places = ['ingest/items/store.ts', 'kernel/files/file-store.ts', 'lib/db.ts', 'api/a.test.ts'];
    for (const file of places) expect(breaches(sqlPlace, `src/${file}`, statement), file).toEqual([]);
  });

  test('is not confused with a sentence', () => {
    const sentences = ['Select a file from the list', 'update the setting and set it right', 'selected from'];
    for (const text of sentences) {
      expect(breaches(sqlPlace, 'src/api/a.ts', `export const s = '${text}';`), text).toEqual([]);
    }
  });
});

describe('a transaction', () => {
  test('a transaction that may write is refused in a route and allowed in a service', () => {
    const uses = [
      'db.tenant(t, work)',
      'deps.db.tenant(t, work)',
      'db.kernel(work)',
      'this.#db.transaction(c, work)',
    ];
    for (const use of uses) {
      const text = `export class A { #db = db; a() { return ${use}; } }`;
      expect(breaches(routeTransactions, 'src/ingest/items/routes.ts', text), use).toHaveLength(1);
      expect(breaches(routeTransactions, 'src/api/routes/users.ts', text), use).toHaveLength(1);
      expect(breaches(routeTransactions, 'src/ingest/items/service.ts', text), use).toEqual([]);
    }
    const read = 'export const a = () => db.read(tenantId, work);';
    expect(breaches(routeTransactions, 'src/ingest/items/grid/pending-routes.ts', read)).toEqual([]);
  });
});

describe('names and sizes', () => {
  test('a barrel, a name without meaning and a name not in kebab-case are refused', () => {
    const refused = [
      'src/lib/index.ts',
      'src/lib/utils.ts',
      'src/lib/string-utils.ts',
      'src/kernel/jobs/job-manager.ts',
      'src/common/sums.ts',
      'src/lib/lineCounter.ts',
    ];
    for (const name of refused) expect(breaches(fileName, name, ''), name).toHaveLength(1);
    for (const name of ['src/lib/data-directory.ts', 'src/lib/ids.test.ts', 'src/api/docs/openapi.ts']) {
      expect(breaches(fileName, name, ''), name).toEqual([]);
    }
  });

  test('a function of 71 lines is refused, of 70 allowed, whatever is in its strings', () => {
    const filled = (lines: number) => Array(lines).fill("  void '}';").join('\n');
    const declared = (lines: number) =>
      `\n/** ä€😀 */\nexport function f<T>(a: T) {\n${filled(lines - 2)}\n}\n`;
    expect(breaches(functionLength, 'src/lib/a.ts', declared(71))).toEqual([
      expect.stringMatching(/^src\/lib\/a\.ts:3 is a function of 71 lines/),
    ]);
    expect(breaches(functionLength, 'src/lib/a.ts', declared(70))).toEqual([]);
    const arrow = `export const f = async () => {\n${filled(69)}\n};`;
    expect(breaches(functionLength, 'src/lib/a.ts', arrow)).toHaveLength(1);
    const method = `export class A {\n  f() {\n${filled(69)}\n  }\n}`;
    expect(breaches(functionLength, 'src/lib/a.ts', method)).toHaveLength(1);
  });

  test('a describe may be long, a test in it may not', () => {
    const long = `() => {\n${Array(70).fill('  void 0;').join('\n')}\n}`;
    expect(breaches(functionLength, 'test/a.test.ts', `describe('a', ${long});`)).toEqual([]);
    expect(breaches(functionLength, 'test/a.test.ts', `describe.each([1])('a', ${long});`)).toEqual([]);
    expect(breaches(functionLength, 'test/a.test.ts', `test('a', ${long});`)).toHaveLength(1);
  });

  test('a file of 401 lines is refused unless it is excepted, and an exception must be needed', () => {
    const long = 'void 0;\n'.repeat(401);
    const name = 'src/lib/a.ts';
    expect(breaches(fileLength(new Map()), name, long)).toHaveLength(1);
    expect(breaches(fileLength(new Map()), name, 'void 0;\n'.repeat(400))).toEqual([]);
    expect(breaches(fileLength(new Map([[name, 'a table']])), name, long)).toEqual([]);
    expect(breaches(fileLength(new Map([[name, 'a table']])), name, 'void 0;')).toHaveLength(1);
  });

  test('a folder with 21 production files is refused; tests and rooms do not count', () => {
    const files = (folder: string, count: number, ending = '.ts') =>
      Array.from({ length: count }, (_, at) => ({ path: `${folder}/file-${at}${ending}`, text: '' }));
    expect(crowdedFolders(files('src/api', 21), [])).toEqual([expect.stringMatching(/^src\/api has 21 /)]);
    const fine = [...files('src/api', 20), ...files('src/api', 9, '.test.ts'), ...files('src/api/room', 9)];
    expect(crowdedFolders(fine, [])).toEqual([]);
    expect(crowdedFolders(files('src/api', 21), ['src/api'])).toEqual([]);
  });

  test('folders beside each other may import one way at run time, and types both ways', () => {
    const file = (name: string, text: string) => ({ path: `src/kernel/${name}.ts`, text });
    const forth = file('jobs/a', "import { b } from '../files/b.ts';");
    const back = file('files/b', "import { c } from '../limits/c.ts';");
    const around = file('limits/c', "import { a } from '../jobs/a.ts';");
    expect(folderCycles([forth, back])).toEqual([]);
    expect(folderCycles([forth, back, around])).toHaveLength(3);
    const onlyTypes = file('limits/c', "import type { A } from '../jobs/a.ts';");
    expect(folderCycles([forth, back, onlyTypes])).toEqual([]);
    const above = file('jobs/room/d', "import { a } from '../a.ts';");
    const below = file('jobs/a', "import { d } from './room/d.ts';");
    expect(folderCycles([above, below])).toEqual([]);
  });

  test('a line of 121 characters is refused, of 120 allowed', () => {
    expect(breaches(lineWidth, 'src/lib/a.ts', `\n${'x'.repeat(121)}`)).toEqual([
      'src/lib/a.ts:2 is 121 characters wide; at most 120.',
    ]);
    expect(breaches(lineWidth, 'src/lib/a.ts', '€'.repeat(120))).toEqual([]);
  });
});

describe('the outside world', () => {
  test('the environment is refused outside the configuration', () => {
    const uses = [
      'export const a = process.env.PORT;',
      "export const a = process['env'].PORT;",
      'export const { PORT } = process.env;',
      "import { env } from 'node:process';",
    ];
    for (const use of uses) expect(breaches(environment, 'src/kernel/a/b.ts', use), use).toHaveLength(1);
    for (const file of [
      'src/config.ts',
      'src/lib/postgres/embedded/embedded-postgres.ts',
      'src/lib/a.test.ts',
    ]) {
      expect(breaches(environment, file, uses[0] ?? ''), file).toEqual([]);
    }
    expect(breaches(environment, 'src/lib/a.ts', 'export const a = process.pid;')).toEqual([]);
  });

  test('console is refused outside the output module of the command line', () => {
    expect(breaches(consoleUse, 'src/api/a.ts', "\nconsole.error('a');")).toEqual([
      expect.stringMatching(/^src\/api\/a\.ts:2 uses console/),
    ]);
    expect(breaches(consoleUse, 'src/cli/terminal/output.ts', "console.log('a');")).toEqual([]);
  });

  test('a pattern that is made in a function is refused, and one of constants allowed', () => {
    const made = 'export const find = (text: string) => new RegExp(text).test(text);';
    expect(breaches(patternSource, 'src/kernel/a.ts', `\n${made}`)).toEqual([
      expect.stringMatching(/^src\/kernel\/a\.ts:2 makes a RegExp at run time/),
    ]);
    expect(breaches(patternSource, 'src/kernel/a.ts', 'function a(b) { return RegExp(b); }')).toHaveLength(1);
    expect(
      breaches(patternSource, 'src/kernel/a.ts', "const words = new RegExp(['a', 'b'].join('|'));"),
    ).toEqual([]);
    expect(breaches(patternSource, 'src/lib/patterns/translate-pattern.ts', made)).toEqual([]);
  });

  test('a migration with a gap, a repeated number, no down migration or a wrong name is refused', () => {
    const both = (stem: string) => [`${stem}.up.sql`, `${stem}.down.sql`];
    expect(migrationNames([...both('0001_a'), ...both('0002_b')])).toEqual([]);
    expect(migrationNames([...both('0001_a'), ...both('0003_c')])).toEqual([
      'migrations/:1 has no number 2, but a higher one.',
    ]);
    expect(migrationNames([...both('0001_a'), ...both('0001_b')])).toEqual([
      'migrations/:1 has number 1 twice: 0001_a, 0001_b.',
    ]);
    expect(migrationNames(['0001_a.up.sql'])).toEqual(['migrations/0001_a:1 has no 0001_a.down.sql.']);
    expect(migrationNames([...both('0000_z'), ...both('0001_a')])).toHaveLength(1);
    expect(migrationNames([...both('0001_a'), 'notes.sql'])).toHaveLength(1);
  });
});

function check(rule: Rule, files = code): void {
  expect(files.flatMap((file) => rule(file))).toEqual([]);
}

function breaches(rule: Rule, name: string, text: string): string[] {
  return rule({ path: name, text });
}

function read(folder: string, wanted: RegExp) {
  return readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => wanted.test(name) && !name.includes('node_modules'))
    .map((name) => ({
      path: path.posix.join(folder, name.split(path.sep).join('/')),
      text: readFileSync(path.join(root, folder, name), 'utf8'),
    }));
}
