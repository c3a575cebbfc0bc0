type Plain = string | number | boolean;
export type MetadataValue = Plain | Plain[];
export type Metadata = Record<string, MetadataValue>;

/** What is said of a document. */
export interface Labels {
  metadata: Metadata;
  /** The groups whose members may see it, `*` for everybody; null: not said. */
  allow: string[] | null;
}

export const labelLimits = {
  fields: 50,
  nameUnits: 100,
  textUnits: 1_000,
  values: 50,
  groups: 100,
  groupUnits: 200,
};

/** In metadata this field is the access list. */
export const accessField = 'allow';
