// CPU time of a PostgreSQL server, as the kernel of the machine counts it.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** Of the server and all its processes, in seconds, including those that have ended: their parent has counted them. */
export function serverCpuSeconds(pid) {
  const own = readStat(pid);
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readStat(name))
    .filter((stat) => stat !== null && stat.parent === pid);
  const ticks = own.ticks + own.endedTicks + children.reduce((sum, { ticks: each }) => sum + each, 0);
  return ticks / ticksPerSecond;
}

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

/** Returns null for a process that has just ended. */
function readStat(pid) {
  let text;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return null;
  }
  // The name of the program is in parentheses and may have spaces; what follows begins with the state.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [user, system, endedUser, endedSystem] = fields.slice(11, 15).map(Number);
  return { parent: Number(fields[1]), ticks: user + system, endedTicks: endedUser + endedSystem };
}
