// A vitest reporter that writes the errors outside of tests to the file SLUICE_TEST_ERRORS. The JSON report does not
// have them, and `npm test` must not forget them when every failed file passes at its second try.
import { writeFileSync } from 'node:fs';

export default class ErrorsReporter {
  onTestRunEnd(_modules, errors) {
    const words = errors.map((error) => error.stack ?? error.message ?? String(error));
    writeFileSync(process.env.SLUICE_TEST_ERRORS, JSON.stringify(words));
  }
}
