import { expect, test } from 'vitest';
import { createLogger } from './log.ts';
import { SecretScrubber } from './secret-scrubber.ts';

const canary = 'canary "quoted" \\ s3cr3t/+';

function collect(level = 'trace') {
  const lines: string[] = [];
  const scrubber = new SecretScrubber([canary]);
  const stream = { write: (line: string) => lines.push(line) };
  return { lines, scrubber, log: createLogger({ level, scrubber, stream }) };
}

function onlyLine(lines: string[]): Record<string, unknown> {
  expect(lines).toHaveLength(1);
  return JSON.parse(lines[0] ?? '') as Record<string, unknown>;
}

test('a registered secret gets through in no way of logging it', () => {
  const { log, lines } = collect();
  const cause = new Error(`inner ${canary}`);
  const error = new Error(`outer ${canary}`, { cause });
  log.info(canary);
  log.info('formatted %s and %j', canary, { canary });
  log.info({ a: { b: { c: [{ d: `x${canary}y` }] } } }, 'nested');
  log.error(error);
  log.error({ err: error, error }, 'both names');
  log.error(new AggregateError([cause], canary));
  log.info({ url: `https://example.com/?q=${encodeURIComponent(canary)}&x=1` });
  log.info({ url: new URL(`https://user:${encodeURIComponent(canary)}@example.com/`) });
  log.child({ bound: canary }).info('child');
  log.info({ [canary]: 'as a name' });
  expect(lines).toHaveLength(10);
  for (const line of lines) {
    expect(line).not.toContain('s3cr3t');
    expect(() => JSON.parse(line)).not.toThrow();
    expect(line).toContain('[redacted]');
  }
});

test('a secret that is registered later is replaced from then on, also by existing children', () => {
  const { log, scrubber, lines } = collect();
  const child = log.child({ part: 'x' });
  scrubber.register(['another-secret']);
  child.info('this is another-secret');
  expect(onlyLine(lines).msg).toBe('this is [redacted]');
});

const telling = [
  'authorization',
  'Cookie',
  'set-cookie',
  'x-api-key',
  'password',
  'client_secret',
  'accessToken',
];

test.each(telling)('the field %s loses its value at any depth', (name) => {
  const { log, lines } = collect();
  log.info({
    [name]: 'visible',
    req: { headers: { [name]: ['visible'], list: [{ [name]: { x: 'visible' } }] } },
  });
  expect(lines.join()).not.toContain('visible');
  expect(lines.join()).toContain('[redacted]');
});

test('a login code loses its value, an error’s code keeps it', () => {
  const { log, lines } = collect();
  log.info({
    code: 'Zk3-9aVisible_x',
    url: '/login?code=Visible&next=1',
    err: { code: 'ECONNREFUSED' },
    pg: { code: '40P01' },
  });
  const line = onlyLine(lines);
  expect(line).toMatchObject({
    code: '[redacted]',
    url: '/login?code=[redacted]&next=1',
    pg: { code: '40P01' },
  });
  expect(lines.join()).toContain('ECONNREFUSED');
});

test('names that only resemble secrets keep their value', () => {
  const { log, lines } = collect();
  log.info({ tokens: 12, token_count: 3, secretary: 'Ann', jobId: 'x' }, 'no code=');
  expect(onlyLine(lines)).toMatchObject({ tokens: 12, token_count: 3, secretary: 'Ann', msg: 'no code=' });
});

test('an error is logged with its stack and the message of its cause', () => {
  const { log, lines } = collect();
  log.error({ err: new Error('outer', { cause: new Error('inner') }) });
  const err = onlyLine(lines).err as { message: string; stack: string };
  expect(err.message).toBe('outer: inner');
  expect(err.stack).toContain('log.test.ts');
});

test('messages below the level are not written', () => {
  const { log, lines } = collect('warn');
  log.info('quiet');
  log.warn('loud');
  expect(onlyLine(lines)).toMatchObject({ level: 'warn', msg: 'loud' });
});

test('very short values are not taken for secrets, because they are part of ordinary words', () => {
  expect(new SecretScrubber(['post', '']).scrub('postgres')).toBe('postgres');
});
