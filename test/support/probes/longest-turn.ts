/** The most processor time between two rounds of the event loop during `work`: a busy machine does not count. */
export async function longestTurnMs<T>(work: () => Promise<T>): Promise<{ result: T; ms: number }> {
  let isDone = false;
  let longestMs = 0;
  let usage = process.cpuUsage();
  const watching = (async () => {
    while (!isDone) {
      await new Promise((next) => setImmediate(next));
      const { user, system } = process.cpuUsage(usage);
      longestMs = Math.max(longestMs, (user + system) / 1000);
      usage = process.cpuUsage();
    }
  })();
  const result = await work().finally(() => {
    isDone = true;
  });
  await watching;
  return { result, ms: longestMs };
}
