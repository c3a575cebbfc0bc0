// Resident memory of a process, as the kernel of the machine counts it.
import { readFileSync } from 'node:fs';
import { median } from './figures.mjs';

const sampleMs = 50;

/** Samples until `stop`, which returns the figures in MB. */
export function watchMemory(pid) {
  const samples = [];
  const timer = setInterval(() => samples.push(residentMb(pid)), sampleMs);
  return {
    stop() {
      clearInterval(timer);
      samples.push(residentMb(pid));
      const third = Math.max(1, Math.floor(samples.length / 3));
      return {
        peakMb: peakMb(pid),
        // Flat means: the last third of the time needs no more than the middle one. The first one is warm-up.
        growth: median(samples.slice(-third)) / median(samples.slice(third, 2 * third + 1)),
        samplesMb: thin(samples),
      };
    },
  };
}

function residentMb(pid) {
  return statusMb(pid, 'VmRSS');
}

/** The most that the process ever had, between samples too. */
export function peakMb(pid) {
  return statusMb(pid, 'VmHWM');
}

function statusMb(pid, name) {
  const [, kb] = new RegExp(`${name}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  if (kb === undefined) throw new Error(`The kernel tells no ${name} of process ${pid}; did it end?`);
  return Number(kb) / 1024;
}

/** A curve for the results file needs no more than 24 points. */
function thin(samples) {
  const step = Math.ceil(samples.length / 24);
  return samples.filter((_, index) => index % step === 0).map(Math.round);
}
