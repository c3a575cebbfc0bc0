import { type Command, Option } from 'commander';
import { loadJwtSecret } from '../../kernel/secrets/installation-secrets.ts';
import { mintToken } from '../../kernel/tenancy/tokens.ts';
import { type Role, roles } from '../../kernel/tenancy/types.ts';
import { parseTenant, parseUser } from '../terminal/arguments.ts';
import { UsageError } from '../terminal/exit.ts';
import { print } from '../terminal/output.ts';
import { addSettingFlags, loadCommandConfig } from '../terminal/setting-flags.ts';

interface TokenOptions {
  tenant: string;
  role: Role;
  sub: string;
  ttl: number;
  group?: string[];
}

export function addTokenCommand(program: Command): void {
  const token = program
    .command('token')
    .description('Print a token for the API, signed with the secret that the server uses.')
    .requiredOption('--tenant <id>', 'the tenant; it is created on first use', parseTenant)
    .addOption(new Option('--role <role>', 'what the token may do').choices(roles).makeOptionMandatory())
    .option('--sub <user>', 'the user', parseUser, 'cli')
    .option('--group <groups...>', 'groups of the user, for documents that only some groups may see')
    .option('--ttl <duration>', 'how long it is valid: 90s, 15m, 12h or 30d', parseDurationSeconds, 86_400);
  addSettingFlags(token, ['dataDir']).action(async (options: TokenOptions, command: Command) => {
    const { config } = await loadCommandConfig(command);
    if (config.jwksUrl !== null && config.jwtSecret === null) {
      throw new UsageError(
        'Tokens are issued by your login service, because SLUICE_JWKS_URL is set and SLUICE_JWT_SECRET is not. ' +
          'Get one there, or set SLUICE_JWT_SECRET for the server and for this command.',
      );
    }
    const secret = await loadJwtSecret({ configured: config.jwtSecret, dataDir: config.dataDir });
    const settings = { secret, issuer: config.jwtIssuer, audience: config.jwtAudience };
    print(
      await mintToken(settings, {
        tenantId: options.tenant,
        userId: options.sub,
        role: options.role,
        lifetimeSeconds: options.ttl,
        ...(options.group ? { groups: options.group } : {}),
      }),
    );
  });
}

const unitSeconds: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 };
const longestSeconds = 3650 * 86_400;

export function parseDurationSeconds(text: string): number {
  const [, count, unit = ''] = /^(\d{1,9})([smhd])$/.exec(text.trim()) ?? [];
  const seconds = Number(count) * (unitSeconds[unit] ?? Number.NaN);
  if (seconds >= 1 && seconds <= longestSeconds) return seconds;
  throw new UsageError(`--ttl is "${text}". Allowed: a number with s, m, h or d, from 1s to 3650d.`);
}
