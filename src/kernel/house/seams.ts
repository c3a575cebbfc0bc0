/** Where a process may die while it runs a pipeline or a task, for tests that make it die there. */
export type Seam = 'before-step' | 'after-step' | 'before-effects' | 'after-effects' | 'after-commit';

/** Called at each seam. What it throws ends the slice as the death of the process would. */
export type SeamHook = (seam: Seam, job: { jobId: string; pipeline: string }) => void;
