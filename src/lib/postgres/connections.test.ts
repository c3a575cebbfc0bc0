import { expect, test } from 'vitest';
import { resolveConnections } from './connections.ts';
import { appUrlFor } from './roles.ts';

const owner = 'postgres://owner:secret@db:5432/sluice';
const direct = 'postgres://owner:other@direct:5433/sluice';
const app = 'postgres://mine:pw@db:5432/sluice';
const none = { databaseUrl: null, databaseAppUrl: null, databaseDirectUrl: null, dataDir: '/nowhere' };

test('an owner’s URL alone gives the derived application login', async () => {
  expect(await resolveConnections({ ...none, databaseUrl: owner })).toMatchObject({
    ownerUrl: owner,
    appUrl: appUrlFor(owner),
    directAppUrl: appUrlFor(owner),
    ownsAppLogin: true,
    embedded: null,
  });
});

test('an application login alone is used as it is, and there is no owner to migrate with', async () => {
  expect(await resolveConnections({ ...none, databaseAppUrl: app })).toMatchObject({
    ownerUrl: null,
    appUrl: app,
    directAppUrl: app,
    ownsAppLogin: false,
  });
});

test('a direct URL is the owner’s, and leads the same application login past the pooler', async () => {
  const found = await resolveConnections({ ...none, databaseUrl: owner, databaseDirectUrl: direct });
  const password = new URL(appUrlFor(direct)).password;
  expect(found.ownerUrl).toBe(direct);
  expect(found.appUrl).toBe(`postgres://sluice_app:${password}@db:5432/sluice`);
  expect(found.directAppUrl).toBe(`postgres://sluice_app:${password}@direct:5433/sluice`);
});

test('all three: the given login everywhere, with the host of its way', async () => {
  const found = await resolveConnections({
    ...none,
    databaseUrl: owner,
    databaseAppUrl: app,
    databaseDirectUrl: direct,
  });
  expect(found.appUrl).toBe(app);
  expect(found.directAppUrl).toBe('postgres://mine:pw@direct:5433/sluice');
  expect(found.ownsAppLogin).toBe(false);
});
