import { eventually } from '../support/worlds/kernel.ts';
import { countLateCalls, examineCalls, examineCounters, examineRows } from './items-verdict.ts';
import { examineKnowledge, type KnowledgeSummary, summariseKnowledge } from './knowledge-verdict.ts';
import type { ProductStage } from './product-stage.ts';
import { examineScrapes, type ScrapeSummary } from './scrape-verdict.ts';
import { examineUploads } from './upload-verdict.ts';

export interface ProductFindings {
  /** One sentence per row that differs from the ledgers. */
  breaches: string[];
  items: { files: number; rows: number; lateCalls: number };
  uploads: { reports: number; rows: number };
  knowledge: KnowledgeSummary;
  scrapes: ScrapeSummary;
}

/** Compares everything that the product has acknowledged with the ledgers outside the database. */
export async function examineProduct(product: ProductStage): Promise<ProductFindings> {
  // Before the searches of the verdict ask for vectors too.
  const knowledge = summariseKnowledge(product);
  const { breaches, scrapes } = await examineScrapes(product);
  return {
    breaches: [
      ...(await examineUploads(product)),
      ...(await examineKnowledge(product)),
      ...breaches,
      ...(await examineRows(product, 'first')),
      ...(await examineCounters(product, { all: true })),
      ...(await examineCalls(product)),
      ...product.breaches,
    ],
    items: {
      files: product.uploaded.length,
      rows: product.uploaded.reduce((sum, { rows }) => sum + rows.length, 0),
      lateCalls: await countLateCalls(product),
    },
    uploads: {
      reports: product.reports.length,
      rows: product.reports.reduce((sum, { size }) => sum + size.rows, 0),
    },
    knowledge,
    scrapes,
  };
}

const finishLimitMs = 300_000;

/** Reports what does not end, so that the kept logs can be searched for it. */
export async function untilFinished(
  { owner }: Pick<ProductStage['database'], 'owner'>,
  replaceDead: () => void = () => {},
): Promise<void> {
  let open: object[] = [];
  const isFinished = async (): Promise<boolean> => {
    replaceDead();
    open = await owner(
      `select tenant_id, job_id, pipeline, status, stage, run_at, leased_by, error_code,
              cardinality(struck_by) as strikes
         from ingestion_jobs
        where status not in ('success', 'dead_letter')`,
    );
    return open.length === 0;
  };
  await eventually(isFinished, 'every job is finished', finishLimitMs).catch((error: unknown) => {
    throw new Error(`${String(error)}: ${open.length} are open, such as ${JSON.stringify(open.slice(0, 5))}`);
  });
}
