import type { FieldProblem } from '../../lib/errors.ts';
import { cronProblem, leastGapMs } from './cron.ts';
import { planCadences, type Scheduled } from './ticks.ts';

type Wanted = Omit<Scheduled, 'jitter'>;

export interface ScheduleProblem {
  code: 'schedule_invalid' | 'cadence_not_allowed';
  message: string;
  details: Record<string, unknown>;
  fields: FieldProblem[];
}

const hourMs = 3_600_000;

/** What keeps this schedule from being saved: it cannot be used, or the plan does not allow it. Null: nothing. */
export function findScheduleProblem(wanted: Wanted, noun: 'sync' | 'pull'): ScheduleProblem | null {
  const { cron, timeZone, cadenceHours, plan } = wanted;
  if (cron === null) return cadenceHours === null ? null : cadenceProblem({ cadenceHours, plan }, noun);
  const problem =
    cadenceHours === null ? cronProblem({ cron, timeZone }) : 'cadence_hours and cron exclude each other';
  if (problem !== null) {
    const message = `The schedule ${cron} cannot be used: ${problem}`;
    const fields = [{ pointer: '/cron', message: problem }];
    return { code: 'schedule_invalid', message, details: {}, fields };
  }
  const { minimumHours } = planCadences[plan];
  const gapHours = leastGapMs({ cron }, new Date()) / hourMs;
  if (gapHours >= minimumHours) return null;
  return {
    code: 'cadence_not_allowed',
    message:
      `The schedule ${cron} has ${noun}s ${Math.round(gapHours * 100) / 100} hours apart: the plan ${plan} allows ` +
      `${minimumHours} hours or more`,
    details: { plan, minimum_hours: minimumHours },
    fields: [{ pointer: '/cron', message: `its ticks must be at least ${minimumHours} hours apart` }],
  };
}

function cadenceProblem(
  { cadenceHours, plan }: { cadenceHours: number; plan: Wanted['plan'] },
  noun: 'sync' | 'pull',
): ScheduleProblem | null {
  const { minimumHours, isConfigurable } = planCadences[plan];
  const isFine = isConfigurable ? cadenceHours >= minimumHours : cadenceHours === minimumHours;
  if (isFine) return null;
  const rule = isConfigurable
    ? `the plan ${plan} allows ${minimumHours} hours or more`
    : `the plan ${plan} ${noun}s every ${minimumHours} hours, and that cannot be changed`;
  return {
    code: 'cadence_not_allowed',
    message: `A ${noun} every ${cadenceHours} hours is not possible: ${rule}`,
    details: { plan, minimum_hours: minimumHours },
    fields: [
      { pointer: '/cadence_hours', message: `must be ${isConfigurable ? 'at least ' : ''}${minimumHours}` },
    ],
  };
}
