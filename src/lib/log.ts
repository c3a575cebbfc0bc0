import pino from 'pino';
import type { SecretScrubber } from './secret-scrubber.ts';

/**
 * Structured logs on stderr: JSON lines, or one readable line each on a terminal. Every line passes the same gate
 * on its way out, whatever serializer or child logger made it: fields with telling names lose their value, and
 * registered secrets are replaced wherever they stand.
 */
export type Logger = pino.Logger;

export interface LogStream {
  write(line: string): unknown;
}

export function createLogger(options: {
  level: string;
  scrubber: SecretScrubber;
  stream?: LogStream;
}): Logger {
  const clean = (line: string) => options.scrubber.scrub(redactLine(line));
  return pino(
    {
      level: options.level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: pino.stdSerializers.err, error: pino.stdSerializers.err },
      hooks: { streamWrite: clean },
    },
    options.stream ?? standardError(),
  );
}

/** Synchronous, so that the last words of a crashing process are not lost. */
function standardError(): LogStream {
  const destination = pino.destination({ dest: 2, sync: true });
  if (!process.stderr.isTTY) return destination;
  return { write: (line) => destination.write(toReadableLine(line)) };
}

const secretName = /(?:^|[_.-])(?:password|passwd|secret|token|authorization|cookie|api[_-]?key)$/i;
const secretCamelName = /(?:Password|Secret|Token|ApiKey|Cookie)$|^apiKey$/;
const mayHoldSecretName =
  /(?:password|passwd|secret|token|authorization|cookie|api[_-]?key|"code")[^"]{0,100}":|code=|token=|key=/i;
const secretInQuery = /([?&](?:code|[a-z_]*token|[a-z_]*secret|password|(?:api_?)?key)=)[^&\s"'#\\]+/gi;
/** `code` is a login code or an error's code; only the latter is made of words or SQLSTATE digits. */
const errorCode = /^(?:[A-Z][A-Z0-9_]{0,60}|[a-z][a-z_]{0,60}|[0-9A-Z]{5})$/;

/** Parses only lines that may need it: almost none do. */
function redactLine(line: string): string {
  if (!mayHoldSecretName.test(line)) return line;
  const cleaned: unknown = JSON.parse(line, (name, value: unknown) => {
    if (isSecretField(name, value)) return '[redacted]';
    return typeof value === 'string' ? value.replace(secretInQuery, '$1[redacted]') : value;
  });
  return `${JSON.stringify(cleaned)}\n`;
}

function isSecretField(name: string, value: unknown): boolean {
  if (value === null || typeof value === 'boolean') return false;
  if (name === 'code') return typeof value === 'string' && !errorCode.test(value);
  return secretName.test(name) || secretCamelName.test(name);
}

function toReadableLine(line: string): string {
  const { level, time, msg, pid: _pid, err, ...rest } = JSON.parse(line) as Record<string, unknown>;
  const fields = Object.entries(rest).map(([name, value]) => `${name}=${readableValue(value)}`);
  const clock = String(time).slice(11, 19);
  const stack = typeof err === 'object' && err !== null && 'stack' in err ? `\n${String(err.stack)}` : '';
  return `${[clock, String(level).toUpperCase().padEnd(5), msg, ...fields].filter(Boolean).join(' ')}${stack}\n`;
}

function readableValue(value: unknown): string {
  return typeof value === 'string' && !/\s/.test(value) ? value : JSON.stringify(value);
}
