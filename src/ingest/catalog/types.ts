/** How a row is looked up, best first; a row that one of them does not find is tried with the next. */
export const strategies = ['sku', 'brand_title', 'fuzzy_title'] as const;
export type Strategy = (typeof strategies)[number];

/** The fields of a product that have a meaning here; every other column is kept as it is. */
export const productFields = ['sku', 'brand', 'title', 'gtin'] as const;
export type ProductField = (typeof productFields)[number];
/** Which column of a file is which field; null: it has none. */
export type FieldColumns = Record<ProductField, string | null>;

export const catalogNamePattern = /^[a-z0-9][a-z0-9_-]{0,62}$/;

export interface CatalogKey {
  tenantId: string;
  name: string;
}

export interface Catalog extends CatalogKey {
  /** Counts the replacements, from 1. */
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

/** What is known of a row that is looked up. */
export interface Question {
  sku: string | null;
  brand: string | null;
  title: string | null;
}

/** A product that a lookup came across; `n` is the place of its question, from 1. */
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

/** What one strategy says about one row. */
export type Match =
  | { found: true; score: number; product: Record<string, unknown> }
  | { found: false; reason: string; candidates: Candidate[] };
