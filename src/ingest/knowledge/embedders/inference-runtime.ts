import { existsSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { packageDir } from '../../../lib/package-dir.ts';

export type InferenceRuntime = typeof import('onnxruntime-node');

/** Where `scripts/pack.mjs` puts the runtime in a package; a checkout has none. */
const packed = path.join(packageDir, 'vendor/onnxruntime/dist/index.js');

/** The packed runtime, or in a checkout the one that npm has installed. */
export async function loadInferenceRuntime(): Promise<InferenceRuntime> {
  if (!existsSync(packed)) return import('onnxruntime-node');
  const { default: runtime } = (await import(pathToFileURL(packed).href)) as { default: InferenceRuntime };
  return runtime;
}
/**
 * onnxruntime 1.30 keeps a store of telemetry below the user's home and sends it to Microsoft, unless told not to. The
 * library reads the environment of the process, which only the main thread can change, and reads it when it is loaded.
 */
export function keepRuntimeQuiet(): void {
  process.env.ORT_DISABLE_TELEMETRY = '1';
}
