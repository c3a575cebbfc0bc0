import { describe, expect, test } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { allStrings, eachString, isRefusal, shown, someStrings, type Turn } from './each-string.ts';
import { answerTo, useProduct } from './product.ts';
import { readRoutes } from './request-schemas.ts';
import { Tally } from './tally.ts';

// Every naughty string where a request has a text beside its body: in claims, headers, queries and paths.
const database = useDatabase();
const product = useProduct(database);
const tally = new Tally('naughty strings around bodies', allStrings.length * 30);

/** Runs the work with every string and expects none of its complaints. */
async function expectNothing(
  work: (turn: Turn) => Promise<string | null>,
  strings: readonly string[] = allStrings,
): Promise<void> {
  const problems: string[] = [];
  const judged = async (turn: Turn) => {
    const problem = await work(turn);
    tally.count();
    if (problem !== null) problems.push(`${shown(turn.text)}: ${problem}`);
  };
  await eachString(database, judged, strings);
  expect(problems.slice(0, 10)).toEqual([]);
}

describe('a token', () => {
  const claims = {
    tenantId: { back: 'tenant_id', isLeftOut: false },
    userId: { back: 'user_id', isLeftOut: false },
    // Only for display: what cannot be displayed is left out.
    name: { back: 'name', isLeftOut: true },
    email: { back: 'email', isLeftOut: true },
  } as const;
  test.each(Object.keys(claims) as (keyof typeof claims)[])(
    'has a %s that comes back unchanged or is refused',
    async (claim) => {
      const { back, isLeftOut } = claims[claim];
      await expectNothing(async ({ text, claims: own }) => {
        const told = await product.ask({ ...own, role: 'admin', [claim]: text }, { path: '/api/me' });
        if (isRefusal(told)) return null;
        const got = told.body[back];
        const isKept = told.status === 200 && (got === text || (isLeftOut && got === null));
        return isKept ? null : `${told.status} ${told.text.slice(0, 200)}`;
      });
    },
  );

  test('sees only its own tenant when the tenant’s id is naughty', async () => {
    const names = new Map<string, string>();
    await expectNothing(async ({ text }) => {
      const claims = { tenantId: text, role: 'admin' } as const;
      const told = await product.ask(claims, {
        method: 'POST',
        path: '/api/workspaces',
        body: { name: newId() },
      });
      if (isRefusal(told)) return null;
      const { body } = await product.ask(claims, { path: '/api/workspaces?limit=200' });
      const own = (body.data as { name: string }[])
        .map(({ name }) => name)
        .filter((name) => name !== 'Default');
      names.set(text, own.join());
      return own.includes(String(told.body.name)) ? null : `does not see its own workspace: ${own}`;
    });
    expect(names.size).toBeGreaterThan(allStrings.length / 2);
    expect(new Set(names.values()).size).toBe(names.size);
  });
});

const headers = [
  'Idempotency-Key',
  'X-Request-Id',
  'Cookie',
  'Accept',
  'User-Agent',
  'Last-Event-ID',
  'If-None-Match',
  'X-Forwarded-For',
  'Origin',
  'Traceparent',
];

describe('a header', () => {
  test.each(headers)('%s is accepted or refused, and breaks nothing', async (name) => {
    await expectNothing(async ({ text, claims }) => {
      const { authorization } = await product.bearer(claims);
      const answer = await answerTo(product.url, [
        'GET /api/me HTTP/1.1',
        'Host: localhost',
        'Connection: close',
        `Authorization: ${authorization}`,
        `${name}: ${text}`,
      ]);
      return answer.status >= 200 && answer.status < 500 ? null : answer.text.slice(0, 300);
    });
  });

  test.each(['Authorization', 'Host', 'Content-Type', 'Content-Length', 'Transfer-Encoding', 'Expect'])(
    '%s with a naughty value is refused with a 4xx status or has no effect',
    async (name) => {
      await expectNothing(async ({ text }) => {
        const others = name === 'Host' ? [] : ['Host: localhost'];
        const answer = await answerTo(product.url, [
          'POST /api/workspaces HTTP/1.1',
          ...others,
          'Connection: close',
          `${name}: ${text}`,
        ]);
        return answer.status >= 400 && answer.status < 500 ? null : answer.text.slice(0, 300);
      });
    },
  );

  test('Idempotency-Key always means the same key and never another one', async () => {
    const made = new Map<string, string>();
    const claims = { tenantId: await newTenant(database, 'enterprise'), role: 'admin' } as const;
    await expectNothing(async ({ text }) => {
      const isHeader = /^[\x20-\x7e\x80-\xff\t]+$/.test(text) && text === text.trim();
      if (!isHeader) return null;
      const ask = () =>
        product.ask(claims, {
          method: 'POST',
          path: '/api/workspaces',
          body: { name: `for ${text}` },
          headers: { 'idempotency-key': text },
        });
      const [first, second] = [await ask(), await ask()];
      if (first.status >= 400) return isRefusal(first) ? null : `${first.status} ${first.text}`;
      made.set(text, String(first.body.workspace_id));
      return second.text === first.text ? null : `answered differently: ${second.text}`;
    });
    expect(made.size).toBeGreaterThan(60);
    expect(new Set(made.values()).size).toBe(made.size);
  });
});

/** The one route that asks Airbyte, and there is none here. */
const routes = (await readRoutes()).filter(({ url }) => url !== '/api/connections');
const queries = routes.flatMap(({ method, url, query }) =>
  query
    .filter(({ schema }) => schema.type !== 'integer' && schema.type !== 'number' && !schema.enum)
    .filter(() => !url.endsWith('/stream'))
    .map(({ name }) => ({ method, url, parameter: name })),
);
const paths = routes.flatMap(({ method, url }) =>
  [...url.matchAll(/:\w+/g)].map(([parameter]) => ({ method, url, parameter })),
);

describe('a text in an address', () => {
  test.each(queries)('$method $url?$parameter finds something or is refused', async (route) => {
    const { method, url, parameter } = route;
    await expectNothing(
      async ({ text, claims }) => {
        const path = `${url.replaceAll(/:\w+/g, newId())}?${parameter}=${encoded(text)}`;
        const told = await product.ask(claims, { method, path });
        return told.status < 400 || isRefusal(told) ? null : `${told.status} ${told.text.slice(0, 200)}`;
      },
      someStrings(queries.indexOf(route)),
    );
  });

  test.each(paths)('$method $url with $parameter finds nothing or is refused', async (route) => {
    const { method, url, parameter } = route;
    await expectNothing(
      async ({ text, claims }) => {
        const path = url.replaceAll(/:\w+/g, (name) => (name === parameter ? encoded(text) : newId()));
        const told = await product.ask(claims, { method, path });
        return told.status < 400 || isRefusal(told) ? null : `${told.status} ${told.text.slice(0, 200)}`;
      },
      someStrings(paths.indexOf(route)),
    );
  });
});

/** Half a pair has no UTF-8: it goes as the bytes that a careless program would send. */
function encoded(text: string): string {
  return encodeURIComponent(text.replaceAll(/\p{Surrogate}/gu, '\ufffd'))
    .replaceAll('%EF%BF%BD', '%ED%A0%80')
    .slice(0, 8_000);
}

test(`all ${allStrings.length} strings were tried in at least 30 places`, () => {
  expect(tally.report()).toBeGreaterThanOrEqual(tally.quota);
});
