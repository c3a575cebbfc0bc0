import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { useProduct } from '../../../test/security/product.ts';
import { useDatabase } from '../../../test/support/worlds/database.ts';
import { requestExamples } from './examples.ts';
import { renderReferencePage } from './reference-page.ts';

const root = path.join(import.meta.dirname, '../../..');

interface Operation {
  operationId: string;
  security?: object[];
  responses: Record<string, { $ref?: string }>;
  parameters?: { name: string; in: string }[];
}

const product = useProduct(useDatabase());
const operator = { tenantId: 'acme', role: 'operator' } as const;
let text = '';
let document: {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: object; responses: Record<string, { content: object }> };
};

beforeAll(async () => {
  text = (await product.ask(null, { path: '/api/openapi.json' })).text;
  document = JSON.parse(text);
});

describe('the console’s types', () => {
  test('are those of the document', async () => {
    const { renderApiTypes } = await import(path.join(root, 'scripts/api-types.mjs'));
    const checkedIn = await readFile(path.join(root, 'console/src/api/types.ts'), 'utf8');
    expect(checkedIn, 'run `npm run generate`').toBe(renderApiTypes(JSON.parse(text)));
  });
});

describe('the OpenAPI document', () => {
  test('is the checked-in openapi.json', async () => {
    expect(await readFile(path.join(root, 'openapi.json'), 'utf8'), 'run `npm run generate`').toBe(text);
  });

  test('is version 3.1 and describes the error response of every operation', () => {
    expect(document.openapi).toBe('3.1.0');
    const operations = Object.entries(document.paths).flatMap(([url, item]) =>
      Object.entries(item).map(([method, operation]) => ({ label: `${method} ${url}`, operation })),
    );
    expect(operations.length).toBeGreaterThan(15);
    for (const { label, operation } of operations) {
      expect({ label, problem: operation.responses['500']?.$ref }).toEqual({
        label,
        problem: '#/components/responses/InternalServerError',
      });
      expect(Object.keys(operation.responses).some((status) => Number(status) < 400)).toBe(true);
      // The secret of a hook is its URL, and a login carries its token in the body: neither needs other credentials.
      const isPublic = label.includes('/api/hooks/') || label === 'post /api/session';
      const isProtected = /^\w+ \/(?:api|v1)\//.test(label) && !isPublic;
      expect(operation.security).toHaveLength(isProtected ? 3 : 0);
    }
    for (const reply of Object.values(document.components.responses)) {
      expect(Object.keys(reply.content)).toEqual(['application/problem+json']);
    }
  });

  test('gives each operation a name of its own that a program can use', () => {
    const names = Object.values(document.paths)
      .flatMap((item) => Object.values(item))
      .map(({ operationId }) => operationId);
    expect(names.filter((name) => !/^[a-z][A-Za-z0-9]+$/.test(name))).toEqual([]);
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
    expect(names).toEqual(
      expect.arrayContaining(['getJobs', 'getJob', 'pauseJob', 'createWorkspace', 'requeueDeadLetter']),
    );
  });

  test('has examples only for operations that exist, and each is taken as it stands', async () => {
    const operations = Object.entries(document.paths).flatMap(([url, item]) =>
      Object.entries(item).map(([method, operation]) => ({ url, method, operation })),
    );
    for (const [name, body] of Object.entries(requestExamples)) {
      const found = operations.find(({ operation }) => operation.operationId === name);
      expect(found, name).toBeDefined();
      const path = found?.url.replaceAll(/\{\w+\}/g, 'handbook') ?? '';
      const answer = await product.ask(operator, { path, method: found?.method.toUpperCase() ?? '', body });
      expect({
        name,
        isRefused: answer.status === 400 || answer.status === 422,
        text: answer.text,
      }).toMatchObject({
        name,
        isRefused: false,
      });
    }
  });

  test('names the Idempotency-Key where it is honoured', () => {
    const parameters = (url: string, method: string) =>
      document.paths[url]?.[method]?.parameters?.map(({ name }) => name) ?? [];
    expect(parameters('/api/workspaces', 'post')).toContain('idempotency-key');
    expect(parameters('/api/workspaces', 'get')).not.toContain('idempotency-key');
  });

  test('has no schema that nothing refers to, and no reference to a schema that it lacks', () => {
    const names = Object.keys(document.components.schemas);
    const references = new Set([...text.matchAll(/#\/components\/schemas\/(\w+)/g)].map((match) => match[1]));
    expect([...references].sort()).toEqual([...names].sort());
  });

  test('renders as a page without scripts or inline styles, and escapes markup', () => {
    const page = renderReferencePage(JSON.parse(text.replaceAll('Create a workspace', '<img src=x>')));
    expect(page).toContain('POST /api/workspaces');
    expect(page).toContain('&lt;img src=x&gt;');
    expect(page).not.toMatch(/<img|<script|style=/);
  });
});
