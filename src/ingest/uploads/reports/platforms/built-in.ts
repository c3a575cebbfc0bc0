import { type BuiltInPlatform, type PlatformDefinition, platforms } from '../types.ts';
import google from './google.json' with { type: 'json' };
import linkedin from './linkedin.json' with { type: 'json' };
import meta from './meta.json' with { type: 'json' };
import microsoft from './microsoft.json' with { type: 'json' };
import pinterest from './pinterest.json' with { type: 'json' };
import tiktok from './tiktok.json' with { type: 'json' };

/** The profiles that come with Sluice; a test holds them to the schema of tenants' own. */
export const builtInPlatforms: Record<BuiltInPlatform, PlatformDefinition> = {
  google,
  linkedin,
  meta,
  microsoft,
  pinterest,
  tiktok,
} as Record<BuiltInPlatform, PlatformDefinition>;

/** Returns null when no platform of that name comes with Sluice. */
export function findBuiltIn(name: string): PlatformDefinition | null {
  return isBuiltIn(name) ? builtInPlatforms[name] : null;
}

function isBuiltIn(name: string): name is BuiltInPlatform {
  return (platforms as readonly string[]).includes(name);
}
