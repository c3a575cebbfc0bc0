// Waits for the start of a job in some process: which one starts it, and when.
const waitLimitMs = 60_000;

export function openBegins() {
  const waiting = new Map();
  return {
    /** For `startContender`. */
    hear(message, child) {
      if (message.is === 'begin') waiting.get(message.subjectId)?.({ child, atNs: BigInt(message.atNs) });
    },
    /** The next start of this job. */
    next(subjectId) {
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(subjectId);
          reject(new Error(`The job of ${subjectId} did not begin within ${waitLimitMs} ms`));
        }, waitLimitMs);
        waiting.set(subjectId, (begin) => {
          clearTimeout(timer);
          waiting.delete(subjectId);
          resolve(begin);
        });
      });
    },
  };
}
