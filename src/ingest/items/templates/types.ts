export interface TemplateKey {
  tenantId: string;
  name: string;
}

/** A processor with its options and the mapping of columns, under a name of the tenant's. */
export interface ItemTemplate extends TemplateKey {
  processor: string;
  options: Record<string, unknown>;
  /** File column → column of the job, or null to leave it out. Null instead: all as in the file. */
  mapping: Record<string, string | null> | null;
  updatedBy: string;
  updatedAt: Date;
}

export const maxTemplates = 200;
