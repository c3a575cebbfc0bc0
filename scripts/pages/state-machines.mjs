/** The text of docs/state-machines.md, from the table of moves that the program itself goes by. */
export function stateMachinePage(transitions) {
  return [
    '# State machines',
    '<!-- Made from src/kernel/jobs/transitions.ts by `npm run generate`. Do not edit by hand. -->',
    '## Jobs',
    introduction,
    diagram(transitions),
    '### Moves',
    'What is not in this table cannot happen: every move is one guarded update that names the states it starts from.',
    table(transitions),
    '### Leases and epochs',
    leases,
    '### Gates: pause and cancel',
    gates,
    '### Outcomes of a slice',
    outcomes,
    '### Strikes',
    strikes,
    '',
  ].join('\n\n');
}
const introduction = `Every pipeline's work is a job, and a job advances in slices. \`running\` means
started and not ended: a running job without a lease waits for its turn or for its \`run_at\`. \`failed\`
means that a retry is waiting; what failed for good is a \`dead_letter\`. At most one job of a tenant,
pipeline and subject is active (\`queued\`, \`running\`, \`paused\`, or \`canceled\` with its cleanup open).`;
const leases = `A claim gives a worker the lease of a job and raises the job's \`lease_epoch\` by one. The
worker renews the lease while the slice runs. Every transaction of a slice starts by locking the job's row
and looks whether the epoch is still its own; if not, nothing of the slice is kept: rows, checkpoint,
counters, status and events stand or fall together. Cancel and rescue raise the epoch too, so a worker that
was thought dead and wakes up later can no longer write. A lease that was given back cannot be used again.`;
const gates = `Pause takes effect at once for everybody who would take the next slice; the slice in flight
may still commit and then gives its lease back. Cancel takes effect for the slice in flight as well: its
commit is refused. What a canceled job has left behind is removed in cleanup slices, which are leased and
fenced like all others. Until they are done the subject counts as busy. A job that never started needs no
cleanup.`;
const outcomes = `| outcome | running job | paused job | canceled job (cleanup slice) | uses an attempt |
| --- | --- | --- | --- | --- |
| \`continue\` | running | paused | cleanup goes on | no |
| \`wait\` | running, due later | paused | cleanup goes on later | no |
| \`done\` | success | success | cleanup is closed | no |
| \`retry\` | failed, due after the delay | paused; resuming makes it failed | cleanup goes on later | yes |
| \`dead\` | dead_letter | dead_letter | cleanup goes on | no |

A dead letter is never moved again. Requeueing it makes a new job that names it in \`requeued_from\`, once.`;
const strikes = `A worker holds an advisory lock for as long as its process lives. When the lock is gone its
leases are taken back at once (cause \`lock\`); a lease that is not renewed is taken back when it has
expired (cause \`expiry\`). A job whose worker died gets a strike and runs alone in its worker next time, so
that its neighbours take none. Progress clears the strikes, and a worker that turns out to live takes its
strike back. After three strikes in a row the job is a dead letter with the code \`worker_crashed\`: a
poison job must not kill workers for ever.`;
function diagram(transitions) {
  const arrows = new Map();
  for (const transition of transitions) {
    const key = `${transition.from} --> ${transition.to}`;
    arrows.set(key, [...(arrows.get(key) ?? []), transition]);
  }
  const lines = [...arrows].map(
    ([arrow, moves]) => `  ${arrow}: ${[...new Set(moves.map(({ move }) => move))].join(', ')}`,
  );
  const ends = ['success', 'dead_letter', 'canceled'].map((status) => `  ${status} --> [*]`);
  return ['```mermaid', 'stateDiagram-v2', '  [*] --> queued: dispatch', ...lines, ...ends, '```'].join('\n');
}
function table(transitions) {
  const rows = transitions.map(({ move, from, to, when }) => `| ${move} | ${from} | ${to} | ${when} |`);
  return ['| move | from | to | when |', '| --- | --- | --- | --- |', ...rows].join('\n');
}
