import {
  conflict,
  defineErrors,
  forbidden,
  invalid,
  notFound,
  rateLimited,
  transient,
} from '../../lib/errors.ts';

/** Errors of requests about connectors. */
export const connectorErrors = defineErrors({
  connector_not_found: notFound(
    'There is no such connector',
    'Check the id; GET /api/connectors lists the tenant’s connectors.',
  ),
  connector_exists: conflict(
    'The tenant already has a connector with this id',
    'Choose another connector_id, or change the existing connector.',
  ),
  server_not_found: notFound(
    'The tenant has no such Airbyte server',
    'Check the name; GET /api/airbyte-servers lists the tenant’s own servers.',
  ),
  server_unusable: invalid(
    'The Airbyte server cannot be used with its secret',
    'Store the secret again, for this host and without blanks; syncs wait until then.',
  ),
  server_in_use: conflict(
    'Connectors use the Airbyte server',
    'Delete these connectors first, or leave the server.',
  ),
  server_limit_reached: conflict(
    'The tenant has the most Airbyte servers allowed',
    'Delete one that is not used.',
  ),
  connection_taken: conflict(
    'The Airbyte connection is already enrolled',
    'Use a separate connection for each connector, or ask the operator who has enrolled this one.',
  ),
  connection_unknown: invalid(
    'Airbyte does not know the connection',
    'Copy the id from the address of the connection’s page in Airbyte.',
  ),
  connector_busy: conflict(
    'The connector has an active sync',
    'Wait for the job in active_job_id or cancel it, then try again.',
  ),
  connector_disabled: conflict(
    'The connector is disabled',
    'Enable it with PATCH /api/connectors/{connector_id} {"enabled": true}.',
  ),
  cadence_not_allowed: invalid(
    'The plan does not allow this cadence',
    'Use at least the plan’s minimum, leave cadence_hours out, or ask the operator for another plan.',
  ),
  schedule_invalid: invalid(
    'The schedule cannot be used',
    'Use five cron fields (minute, hour, day of month, month, day of week) and a time zone, or cadence_hours.',
  ),
  enrolment_by_operator: forbidden(
    'Only the operator enrols connections here',
    'Ask the operator to assign the connection with POST /api/connectors/import.',
  ),
  connector_tenant_unknown: invalid(
    'The tenant does not exist',
    'Create the tenant first, or use a tenant_id of GET /api/tenants.',
  ),
  airbyte_not_configured: transient(
    'Airbyte is not configured',
    'Set the variables that the message names and restart; GET /api/connectors/status shows what is missing.',
  ),
  airbyte_refused: transient(
    'Airbyte could not be asked',
    'Read the message, fix what it names or try again later.',
  ),
  airbyte_hook_unknown: notFound(
    'There is no such webhook address',
    'Copy the address from GET /api/connectors/status (operator) into Airbyte’s notification settings.',
  ),
});

/** Why a sync failed or waits for a retry: codes in `error_code`. */
export const syncFailures = defineErrors({
  auth_error: forbidden(
    'Airbyte refuses access to this connection',
    'Give the application access to the connection in Airbyte, then requeue the job.',
  ),
  rate_limit: rateLimited(
    'Airbyte asked to slow down too often',
    'Sync less often or raise the limit at Airbyte, then requeue the job.',
  ),
  server_error: transient(
    'Airbyte failed repeatedly',
    'Check Airbyte’s status page; requeue the job when Airbyte works again.',
  ),
  timeout: transient(
    'Airbyte did not respond in time',
    'Check Airbyte’s status page; requeue the job when Airbyte works again.',
  ),
  connection_error: transient(
    'Airbyte could not be reached',
    'Check AIRBYTE_BASE_URL and the network; requeue the job when Airbyte can be reached.',
  ),
  bad_answer: transient(
    'Airbyte’s responses could not be read',
    'Check that AIRBYTE_BASE_URL is the address of the API and that no proxy responds instead.',
  ),
  wrong_address: transient(
    'What responds at AIRBYTE_BASE_URL is not the API of Airbyte',
    'Correct AIRBYTE_BASE_URL and restart; `sluice doctor` tells when it is right. Syncs wait until then.',
  ),
  already_running: conflict(
    'Another sync is running on the connection',
    'Wait until it has ended, or set on_active_sync to adopt; then requeue the job.',
  ),
  state_conflict: conflict(
    'Airbyte cannot sync the connection in its current state',
    'Check the connection in Airbyte, then requeue the job.',
  ),
  connection_inactive: conflict(
    'The connection is inactive or deleted in Airbyte',
    'Activate the connection in Airbyte (it is disabled after many failures), then requeue the job.',
  ),
  insufficient_credits: conflict(
    'The Airbyte account has no credits left',
    'Buy credits, then requeue the dead letters with this code.',
    422,
  ),
  not_found: notFound(
    'Airbyte does not know the connection or the run',
    'Check airbyte_connection_id; delete the connector if the connection is gone.',
  ),
  bad_request: invalid('Airbyte refused the request', 'Read the message; check airbyte_connection_id.'),
  sync_failed: transient(
    'Airbyte reported the sync as failed after several attempts of its own',
    'Read the reason here or in Airbyte, fix the source or destination, then requeue the job.',
  ),
  config_error: invalid(
    'The source or destination of the connection is set up wrongly',
    'Correct the settings that the message names in Airbyte, then requeue the job.',
  ),
  sync_deadline_exceeded: transient(
    'The sync took longer than SYNC_DEADLINE_HOURS',
    'Check the run in Airbyte: it may still be running. A requeued job adopts it.',
  ),
  connector_gone: notFound(
    'The connector was deleted while its sync waited',
    'Nothing to do, unless it was a mistake: then create the connector again.',
  ),
  canceled_in_airbyte: conflict(
    'The sync was canceled in Airbyte',
    'Start it again with sync now if it was a mistake.',
  ),
  skipped_active: conflict(
    'Skipped, because another sync was running on the connection',
    'Nothing to do; set on_active_sync to adopt to follow such syncs.',
  ),
});
