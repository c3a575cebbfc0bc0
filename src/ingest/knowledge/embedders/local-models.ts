/** A model that ships with the program. A new graph or vocabulary is a new model: its name is in the fingerprint. */
export interface LocalModelSpec {
  name: string;
  dimensions: number;
  /** Longer texts are read in windows of so many tokens, without marks of start and end. */
  windowTokens: number;
  pieces: 'sentence-pieces' | 'word-pieces';
  /** As scripts/build-embedder.mjs prints them. Vectors of other files cannot be compared with the stored ones. */
  files: Record<'model' | 'vocabulary', { file: string; sha256: string }>;
}

export const localModels = {
  'all-minilm-l6-v2-q8': {
    name: 'all-minilm-l6-v2-q8',
    dimensions: 384,
    // The model was trained on 128 to 256 tokens; two are the marks.
    windowTokens: 254,
    pieces: 'word-pieces',
    files: {
      model: {
        file: 'all-minilm-l6-v2-q8.onnx',
        sha256: 'e2717ca5c1c8e66b03503518be7b5884478e6ebd80bac10907288928aceab39b',
      },
      vocabulary: {
        file: 'all-minilm-l6-v2-vocabulary.txt',
        sha256: '07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3',
      },
    },
  },
  /** Of earlier versions: indexes that it has built are searched with it until their next run. */
  'use-lite-en-q7': {
    name: 'use-lite-en-q7',
    dimensions: 512,
    // The model reads 128 tokens and was trained on sentences.
    windowTokens: 110,
    pieces: 'sentence-pieces',
    files: {
      model: {
        file: 'use-lite-en-q7.onnx',
        sha256: '75c5e50a0968cd380b1c4e0b2ac13b09e8c34934d640305c672831d7551ee8f8',
      },
      vocabulary: {
        file: 'use-lite-en-vocabulary.tsv',
        sha256: '4ed3d085a5ee639abf6952baa9856872611e0673da3f4e751d59686746a72afb',
      },
    },
  },
} as const satisfies Record<string, LocalModelSpec>;

export type LocalModelName = keyof typeof localModels;
export const localModelNames = Object.keys(localModels) as LocalModelName[];

/** What new indexes are built with. */
export const currentModel: LocalModelName = 'all-minilm-l6-v2-q8';
const firstModel: LocalModelName = 'use-lite-en-q7';

/** The settings of an index that is there: those of versions with one model do not name it. */
export function settingsOfIndex<Settings extends { provider: string }>(settings: Settings): Settings {
  return settings.provider === 'local' && !('model' in settings)
    ? { ...settings, model: firstModel }
    : settings;
}

/** The settings of a knowledge base as a new index stores them. */
export function settingsForIndex<Settings extends { provider: string }>(settings: Settings): Settings {
  return settings.provider === 'local' && !('model' in settings)
    ? { ...settings, model: currentModel }
    : settings;
}
