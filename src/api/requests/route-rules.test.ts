import Fastify from 'fastify';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { problems, publicProblems } from '../../kernel/http/replies.ts';
import { installRouteRules } from './route-rules.ts';

function register(route: object): () => unknown {
  return () => {
    const app = Fastify();
    app.setValidatorCompiler(() => () => true);
    const routes = installRouteRules(app, { maxBodyBytes: 1024 * 1024 });
    app.route({ method: 'GET', url: '/thing', handler: async () => '', ...route });
    return routes;
  };
}

const response = { 200: z.string(), ...problems() };

describe('a route', () => {
  test('with a right and schemas of all its replies is registered, its HEAD included', () => {
    expect(register({ config: { action: 'job.read' }, schema: { response } })()).toEqual([
      { method: 'GET', url: '/thing', action: 'job.read' },
      { method: 'HEAD', url: '/thing', action: 'job.read' },
    ]);
  });

  test('a route that names no right and is not public, or both, stops the start', () => {
    const words = /either which right it needs \(action\) or that it is public/;
    expect(register({ schema: { response } })).toThrow(words);
    expect(register({ config: { action: 'job.read', public: true }, schema: { response } })).toThrow(words);
  });

  test('without a schema for each reply stops the start', () => {
    const config = { action: 'job.read' };
    expect(register({ config })).toThrow(/lacks schemas/);
    expect(register({ config, schema: { response: { 200: z.string() } } })).toThrow(
      /400, 429, 500, 503, 401, 403/,
    );
    expect(register({ config, schema: { response: problems() } })).toThrow(/one below 400/);
    const withoutAuth = { 200: z.string(), ...publicProblems() };
    expect(register({ config, schema: { response: withoutAuth } })).toThrow(/401, 403/);
  });

  test('a route that is public cannot honour idempotency keys', () => {
    const config = { public: true, idempotent: true };
    expect(register({ config, schema: { response } })).toThrow(/cannot be idempotent/);
  });
});
