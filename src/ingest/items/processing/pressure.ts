import { availableParallelism, totalmem } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { ClaimSignal } from './controllers/claim-size.ts';

/** The load of this process, as shares of what it may use. */
export interface Pressure extends Pick<ClaimSignal, 'cpu' | 'memory' | 'eventLoopLagMs'> {
  /** Increases with every new reading. */
  readingNo: number;
}

export interface PressureOptions {
  cpus?: number;
  memoryLimitBytes?: number;
}

/** Long enough for some samples of the event loop, short enough for the slice that follows. */
const windowMs = 250;
/** Measurements from before a long sleep say nothing about now. */
const longestWindowMs = 30_000;
const resolutionMs = 10;
/** A process of this size is in trouble, whatever memory the machine has. */
const largestProcessBytes = 2 * 1024 ** 3;

/** Reads the live signals of the process: CPU time, resident memory, and how late the event loop's timers are. */
export class PressureMeter {
  readonly #cpus: number;
  readonly #memoryLimitBytes: number;
  readonly #delays = monitorEventLoopDelay({ resolution: resolutionMs });
  #since = { cpu: process.cpuUsage(), atMs: performance.now() };
  #last: Pressure = { cpu: 0, memory: 0, eventLoopLagMs: 0, readingNo: 0 };

  constructor({ cpus = availableParallelism(), memoryLimitBytes }: PressureOptions = {}) {
    this.#cpus = cpus;
    this.#memoryLimitBytes = memoryLimitBytes ?? Math.min(totalmem() * 0.8, largestProcessBytes);
    // Its timer does not keep the process alive.
    this.#delays.enable();
  }

  /** At most one reading per window; in between, the last one is returned. */
  read(): Pressure {
    const elapsedMs = performance.now() - this.#since.atMs;
    if (elapsedMs < windowMs) return this.#last;
    const isRecent = elapsedMs <= longestWindowMs;
    const used = process.cpuUsage(this.#since.cpu);
    this.#last = {
      cpu: isRecent ? Math.min(1, (used.user + used.system) / 1000 / elapsedMs / this.#cpus) : 0,
      memory: process.memoryUsage.rss() / this.#memoryLimitBytes,
      eventLoopLagMs: isRecent ? this.#lagMs() : 0,
      readingNo: this.#last.readingNo + 1,
    };
    this.#since = { cpu: process.cpuUsage(), atMs: performance.now() };
    this.#delays.reset();
    return this.#last;
  }

  /** The histogram holds the time between two ticks, which includes the resolution. */
  #lagMs(): number {
    return this.#delays.count === 0 ? 0 : Math.max(0, this.#delays.percentile(99) / 1e6 - resolutionMs);
  }
}
