import { conflict, defineErrors, invalid, notFound, rateLimited, transient } from '../../lib/errors.ts';

/** Errors of requests about sources of uploads. */
export const sourceErrors = defineErrors({
  source_not_found: notFound(
    'There is no such source of uploads',
    'Check the id; GET /api/uploads/sources lists the tenant’s sources.',
  ),
  source_exists: conflict('The tenant already has a source of this name', 'Choose another name.'),
  source_invalid: invalid(
    'The source of uploads is invalid',
    'Correct the fields listed in `errors` and send the source again.',
  ),
  source_limit_reached: conflict(
    'The tenant has the most sources allowed',
    'Delete a source that is not used, or ask the operator to raise UPLOAD_SOURCE_MAX_COUNT.',
  ),
  source_busy: conflict(
    'A pull of the source is active',
    'Wait for the job in active_job_id, or cancel it first.',
  ),
  pull_range_invalid: invalid(
    'The days of the pull are invalid',
    'Give date_from and date_to together, in their order, at most 400 days, and not in the future.',
  ),
});

/** The same two codes as for connectors: schedules follow the same rules. */
export const sourceScheduleErrors = defineErrors({
  pull_schedule_invalid: invalid(
    'The schedule of the source cannot be used',
    'Give cadence_hours, or cron with five fields and a time_zone such as Europe/Berlin.',
  ),
  pull_cadence_not_allowed: invalid(
    'The plan does not allow this schedule',
    'Choose a longer interval, or ask the operator for another plan.',
  ),
});

/** Why a pull failed. */
export const pullFailures = defineErrors({
  pull_source_gone: notFound('The source was deleted', 'Nothing to do.', 422),
  pull_login_refused: invalid(
    'The other side refused the credentials',
    'Store a new secret of the same name, or give the account access to it; then pull again.',
  ),
  pull_refused: invalid(
    'The other side refused the request',
    'Read its words in the message, correct the source and pull again.',
  ),
  pull_rate_limited: rateLimited(
    'The other side asks for fewer requests',
    'Nothing to do: the pull is tried again when the other side allows it.',
    503,
  ),
  pull_unavailable: transient(
    'The other side has a fault or did not answer',
    'Nothing to do: the pull is tried again. If it keeps failing, check the address.',
    502,
  ),
  pull_answer_unreadable: invalid(
    'The other side answered with something that is no report',
    'Check the address and the version of its API.',
  ),
  pull_too_large: invalid(
    'The report is too large',
    'Ask for fewer days or a higher level, or raise MAX_REPORT_BYTES.',
  ),
});
