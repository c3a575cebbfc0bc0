// Loaded into a process of the product before everything else: with each SIGUSR2 its wall clock jumps to the next of
// these distances from the true time. As on a real machine only the wall clock jumps; the monotonic one goes on.
const hourMs = 3_600_000;
const jumpsMs = [hourMs, -hourMs, 0];
let next = 0;
let shiftMs = 0;

const RealDate = Date;
globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, self) =>
    Reflect.construct(target, args.length === 0 ? [RealDate.now() + shiftMs] : args, self),
  apply: () => new globalThis.Date().toString(),
  get: (target, name) => (name === 'now' ? () => RealDate.now() + shiftMs : Reflect.get(target, name)),
});

process.on('SIGUSR2', () => {
  shiftMs = jumpsMs[next % jumpsMs.length];
  next += 1;
  process.stderr.write(`the clock is ${shiftMs} ms away, it says ${new Date().toISOString()}\n`);
});
