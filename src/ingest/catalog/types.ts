/** How a row is looked up, best first. A row that one strategy does not find is tried with the next. */
export const strategies = ['sku', 'brand_title', 'fuzzy_title'] as const;
export type Strategy = (typeof strategies)[number];

/** The fields of a product that have a meaning here; every other column is kept as it is. */
export const productFields = ['sku', 'brand', 'title', 'gtin'] as const;
export type ProductField = (typeof productFields)[number];
/** Which column of a file holds which field; null: none does. */
export type FieldColumns = Record<ProductField, string | null>;

export const catalogNamePattern = /^[a-z0-9][a-z0-9_-]{0,62}$/;

export interface CatalogKey {
  tenantId: string;
  name: string;
}

export interface Catalog extends CatalogKey {
  /** Starts at 1 and grows with each replacement. */
  version: number;
  versionId: number;
  productCount: number;
  skippedCount: number;
  columns: string[];
  fields: FieldColumns;
  fileName: string | null;
  updatedBy: string;
  createdAt: Date;
  updatedAt: Date;
}

/** A product on its way into the database. */
export interface ProductRow {
  rowNo: number;
  skuKey: string | null;
  brandTitleKey: string | null;
  titleKey: string;
  /** The version, and the brand within it. */
  scope: string[];
  /** JSON text of the row as the file had it. */
  productJson: string;
}

/** What a row is looked up by. */
export interface Question {
  sku: string | null;
  brand: string | null;
  title: string | null;
}

/** A product that a lookup found; `n` is the position of its question, from 1. */
export interface Hit {
  n: number;
  rowNo: number;
  score: number;
  titleKey: string;
  productJson: string;
}

export interface Candidate {
  sku: string | null;
  brand: string | null;
  title: string | null;
  score: number;
}

/** What one strategy found for one row. */
export type Match =
  | { found: true; score: number; product: Record<string, unknown> }
  | { found: false; reason: string; candidates: Candidate[] };
