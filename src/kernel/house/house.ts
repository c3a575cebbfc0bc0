import type { Command } from 'commander';
import type pg from 'pg';
import type { Registry } from 'prom-client';
import type { ErrorChapter } from '../../lib/errors.ts';
import type { GuardedFetch } from '../../lib/fetch/guarded-fetch.ts';
import type { Logger } from '../../lib/log.ts';
import type { Database } from '../../lib/postgres/db.ts';
import type { SecretScrubber } from '../../lib/secret-scrubber.ts';
import type { SettingsCheck, SettingsTable, SettingValues } from '../../lib/settings/settings.ts';
import type { Files } from '../files/types.ts';
import type { Workbooks } from '../files/workbooks.ts';
import type { Findable } from '../find/types.ts';
import type { RouteModule } from '../http/route.ts';
import type { JobGuest, Kernel } from '../jobs/kernel.ts';
import type { SubjectNames } from '../jobs/names.ts';
import type { JobDetails } from '../jobs/routes.ts';
import type { CircuitBreakers } from '../limits/circuit-breaker.ts';
import type { RateLimits } from '../limits/rate-limits.ts';
import type { SecretLender } from '../secrets/types.ts';
import type { KernelConfig } from '../settings.ts';
import type { AttentionSource } from '../stats/types.ts';
import type { UpkeepTask } from '../upkeep/types.ts';
import type { Doors } from './doors.ts';
import type { SeamHook } from './seams.ts';
import type { Verdict } from './verdict.ts';

/**
 * One way to take data in: everything of it lies in one folder of src/ingest, and src/houses.ts lists it. What is
 * here is known without opening anything, so it must load quickly: every command reads it.
 */
export interface House {
  readonly name: string;
  readonly settings: SettingsTable;
  /** Values that are fine one by one can still contradict each other. */
  readonly checks: readonly SettingsCheck<Record<string, unknown>>[];
  /** What the config file may list for it, such as `processors`, by the name of the list. */
  readonly definitions: Readonly<Record<string, DefinitionList>>;
  /** Its part of docs/errors.md. */
  readonly errors: readonly ErrorChapter[];
  /** Its words on the command line. */
  readonly commands: Readonly<Record<string, CommandLoader>>;
  /** Creates what depends on an optional extension of the database; runs after every migration, as the owner. */
  prepare(ownerUrl: string, options: { onNotice(text: string): void }): Promise<void>;
  /** Further checks of `sluice doctor`. */
  readonly doctorChecks: readonly DoctorCheck[];
  /** After how long others take over what a silent process of it holds; Infinity when its jobs are all it holds. */
  takeoverMs(config: KernelConfig): number;
  open(ground: Ground): Promise<OpenHouse>;
}

/** Adds a command to the program; loaded only when somebody uses it. */
export type CommandLoader = () => Promise<(program: Command) => void>;

export interface DefinitionList {
  /** One sentence per problem of the listed values. */
  findProblems(value: unknown): string[];
  /** A chapter of docs/configuration.md. */
  page: string;
}

export interface DoctorCheck<Config = KernelConfig> {
  name: string;
  run(client: pg.Client, config: Config): Promise<Verdict>;
}

/** What every house stands on. */
export interface Ground {
  readonly config: KernelConfig;
  readonly db: Database;
  readonly files: Files;
  /** Reads workbooks in a thread. */
  readonly workbooks: Workbooks;
  readonly logger: Logger;
  /** The metrics of this process. */
  readonly registry: Registry;
  /** Refuses private addresses; every request that a tenant can aim goes through it. */
  readonly fetch: GuardedFetch;
  readonly limits: RateLimits;
  readonly breakers: CircuitBreakers;
  readonly kernel: Kernel;
  readonly doors: Doors;
  readonly scrubber: SecretScrubber;
  /** Signs tokens; what must be the same on every machine is derived from it. */
  readonly secret: string;
  readonly userAgent: string;
  /** Secrets that tenants have stored. */
  readonly secrets: SecretLender;
  /**
   * Lets effects of users' own pipelines use the tables that are not Sluice's. False where nobody here may grant that:
   * the owner's login is not known.
   */
  openAppTables(): Promise<boolean>;
  /** Called where a process could die while it runs users' pipelines; does nothing outside of tests. */
  readonly seams: SeamHook;
  /** What the config file lists under this name, checked. */
  definitions(name: string): readonly unknown[];
}

/** A house at work in this process. */
export interface OpenHouse extends JobGuest {
  routes?: readonly RouteModule[];
  tasks?: readonly UpkeepTask[];
  /** What /api/jobs shows of its jobs, beside what every job has. */
  details?: JobDetails;
  /** What people call the things that its jobs are about. */
  subjectNames?: SubjectNames;
  /** The same for jobs of another house's pipeline that are about things of this one. */
  guestNames?: { pipeline: string; names: SubjectNames };
  /** The counter of its jobs that says how much they took in. */
  rowCounter?: string;
  /** What of it is found by name or id. */
  findables?: readonly Findable[];
  /** What of it waits for a person. */
  attention?: AttentionSource;
  /** Ends what it does by itself; called before the worker stops, with the same grace period. */
  stop?(): Promise<void>;
  /** Closes what it opened; no job and no request runs any more. */
  close?(): Promise<void>;
}

/** The settings of the installation and of the house itself. */
export type HouseConfig<Table extends SettingsTable> = KernelConfig & SettingValues<Table>;

interface HouseSpec<Table extends SettingsTable>
  extends Partial<
    Omit<House, 'name' | 'settings' | 'checks' | 'errors' | 'doctorChecks' | 'takeoverMs' | 'open'>
  > {
  name: string;
  errors: readonly ErrorChapter[];
  settings?: Table;
  checks?: readonly SettingsCheck<SettingValues<Table>>[];
  doctorChecks?: readonly DoctorCheck<HouseConfig<Table>>[];
  takeoverMs?(config: HouseConfig<Table>): number;
  open(ground: Ground, config: HouseConfig<Table>): Promise<OpenHouse>;
}

/** Fills in what a house leaves out. Its settings are in the configuration of the ground. */
export function defineHouse<Table extends SettingsTable = Record<never, never>>(
  spec: HouseSpec<Table>,
): House {
  const { open, takeoverMs, settings = {}, checks = [], doctorChecks = [], ...rest } = spec;
  return {
    definitions: {},
    commands: {},
    prepare: async () => {},
    ...rest,
    settings,
    doctorChecks: doctorChecks as readonly DoctorCheck[],
    checks: checks as readonly SettingsCheck<Record<string, unknown>>[],
    takeoverMs: (config) => takeoverMs?.(config as HouseConfig<Table>) ?? Number.POSITIVE_INFINITY,
    open: (ground) => open(ground, ground.config as HouseConfig<Table>),
  };
}
