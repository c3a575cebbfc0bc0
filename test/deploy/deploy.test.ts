// Neither Docker nor Kubernetes run here. What can be checked without them: that every file is well-formed, and that it
// speaks of settings, commands, routes and files that exist. test/smoke/tarball.test.ts runs what the image is made of.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';

const root = path.join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(path.join(root, file), 'utf8');
const known = new Set(
  [...read('docs/configuration.md').matchAll(/`([A-Z][A-Z0-9_]+)`/g)].map(([, name]) => name),
);
const paths = Object.keys(JSON.parse(read('openapi.json')).paths);
const version: string = JSON.parse(read('package.json')).version;

/** Names that Sluice does not know. */
function unknown(names: readonly string[]): string[] {
  return names.filter((name) => !known.has(name));
}

/** Of a file with one `NAME=value` per line; examples that are commented out count too. */
function namesIn(file: string): string[] {
  return [...read(file).matchAll(/^#?([A-Z][A-Z0-9_]*)=/gm)].map(([, name]) => name ?? '');
}

describe('the Dockerfile', () => {
  const text = read('deploy/Dockerfile').replaceAll('\\\n', ' ');
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));

  test('builds in one stage, and runs in another as a user without rights', () => {
    expect(lines.filter((line) => line.startsWith('FROM '))).toHaveLength(2);
    const users = lines.filter((line) => line.startsWith('USER '));
    expect(users).toEqual(['USER node']);
    expect(lines.findLast((line) => line.startsWith('ENTRYPOINT'))).toBe('ENTRYPOINT ["sluice"]');
  });

  test('sets only variables that there are, and asks a route that there is', () => {
    const set = [...text.matchAll(/(?:ENV |\s{2,})([A-Z][A-Z_]+)=/g)].map(([, name]) => name ?? '');
    expect(set).toEqual(expect.arrayContaining(['HOST', 'PORT', 'SLUICE_DATA_DIR']));
    expect(unknown(set.filter((name) => name !== 'NODE_ENV'))).toEqual([]);
    const asked = /(\/health\/\w+)'/.exec(text)?.[1] ?? '';
    expect(paths).toContain(asked);
  });

  test('leaves out of the build what it does not need', () => {
    expect(read('.dockerignore').split('\n')).toEqual(
      expect.arrayContaining(['.git', '.sluice', '**/node_modules']),
    );
  });
});

describe('the compose file', () => {
  const compose = parse(read('deploy/compose.yaml'), { merge: true });
  const { server, worker } = compose.services;

  test('has PostgreSQL, storage, a server and two workers', () => {
    expect(Object.keys(compose.services)).toEqual(['database', 'storage', 'bucket', 'server', 'worker']);
    expect(server.command).toEqual(['serve']);
    expect(worker).toMatchObject({ command: ['worker'], deploy: { replicas: 2 } });
    expect(existsSync(path.join(root, 'deploy', server.build.context, server.build.dockerfile))).toBe(true);
  });

  test('sets only variables that there are, and its secrets are in the example', () => {
    expect(unknown([...Object.keys(server.environment), ...Object.keys(worker.environment)])).toEqual([]);
    const asked = [...read('deploy/compose.yaml').matchAll(/\$\{([A-Z0-9_]+):\?\}/g)].map(([, name]) => name);
    expect(namesIn('deploy/compose.env.example').sort()).toEqual([...new Set(asked)].sort());
  });
});

describe('the systemd unit', () => {
  const unit = read('deploy/sluice.service');

  test('starts the server as a user of its own, and gives it time to stop', () => {
    expect(unit).toMatch(/^User=sluice$/m);
    expect(unit).toMatch(/^ExecStart=\/usr\/bin\/env sluice serve$/m);
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1])).toBeGreaterThan(10);
  });

  test('sets only variables that there are', () => {
    const set = [...unit.matchAll(/^Environment=([A-Z_]+)=/gm)].map(([, name]) => name ?? '');
    expect(unknown([...set, ...namesIn('deploy/sluice.env.example')])).toEqual([]);
  });
});

describe('the Helm chart', () => {
  const chart = 'deploy/helm/sluice';
  const values = parse(read(`${chart}/values.yaml`));

  test('is of this version, and sets only variables that there are', () => {
    expect(parse(read(`${chart}/Chart.yaml`))).toMatchObject({
      name: 'sluice',
      version,
      appVersion: version,
    });
    expect(values.image.tag).toBe(version);
    expect(unknown(Object.keys(values.settings))).toEqual([]);
  });

  test.each(readdirSync(path.join(root, chart, 'templates')))(
    '%s is YAML, and uses values that exist',
    (name) => {
      const template = read(`${chart}/templates/${name}`);
      // Control lines go, and what a value would fill in becomes a word.
      const plain = template.replaceAll(/^\s*\{\{-[^\n]*\}\}\n/gm, '').replaceAll(/\{\{.*?\}\}/g, 'word');
      for (const document of parseAllDocuments(plain)) {
        expect(document.errors).toEqual([]);
        expect(document.toJS()).toMatchObject({ apiVersion: expect.any(String), kind: expect.any(String) });
      }
      for (const [, dotted = ''] of template.matchAll(/\.Values\.([\w.]+)/g)) {
        const value = dotted.split('.').reduce((inner, key) => inner?.[key], values);
        expect(value, dotted).toBeDefined();
      }
    },
  );

  test('probes routes that there are, and runs commands that there are', () => {
    const server = read(`${chart}/templates/server.yaml`);
    for (const [, probed] of server.matchAll(/path: (\/health\/\w+)/g)) expect(paths).toContain(probed);
    const words = ['server', 'worker', 'migrate'].map(
      (name) => /args: \["(\w+)"/.exec(read(`${chart}/templates/${name}.yaml`))?.[1],
    );
    expect(words).toEqual(['serve', 'worker', 'migrate']);
  });
});
