#!/usr/bin/env node
import { runCommandLine } from './cli/program.ts';

await runCommandLine(process.argv.slice(2));
