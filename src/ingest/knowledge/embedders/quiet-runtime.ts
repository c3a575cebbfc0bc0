/**
 * onnxruntime 1.30 keeps a store of telemetry below the user's home and sends it to Microsoft, unless told not to. The
 * library reads the environment of the process, which only the main thread can change, and reads it when it is loaded.
 */
export function keepRuntimeQuiet(): void {
  process.env.ORT_DISABLE_TELEMETRY = '1';
}
