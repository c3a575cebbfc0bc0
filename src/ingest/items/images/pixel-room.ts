/** Pixels in memory at the same time: each image waits until those before it have left room for it. */
export interface PixelRoom {
  /** What is wanted beyond all there is gets all there is. */
  take(bytes: number): Promise<() => void>;
}

/** First come, first served: a large image is not overtaken by small ones for ever. */
export function openRoom(bytes: number): PixelRoom {
  let free = bytes;
  const waiting: { wanted: number; enter: () => void }[] = [];
  const admit = (): void => {
    for (let first = waiting[0]; first !== undefined && first.wanted <= free; first = waiting[0]) {
      waiting.shift();
      free -= first.wanted;
      first.enter();
    }
  };
  return {
    take: (asked) =>
      new Promise((resolve) => {
        const wanted = Math.min(asked, bytes);
        const leave = (): void => {
          free += wanted;
          admit();
        };
        waiting.push({ wanted, enter: () => resolve(leave) });
        admit();
      }),
  };
}
