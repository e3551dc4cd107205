import { PermanentError } from '../../src/domain/errors.ts'
import type { Protocol } from '../../src/engine/script.ts'
import type { LoadImage } from '../../src/ports/images.ts'
import type { Library } from '../../src/ports/library.ts'

// Parts for tests of something else.

/** A protocol of threads that concludes without a question. */
export function protocolNamed(name: string, change: Partial<Protocol> = {}): Protocol {
  return {
    name,
    version: 1,
    stages: ['word', 'end'],
    subject: 'thread',
    accepts: () => true,
    paper: { calls: 0, depth: 0, of: 'no paper' },
    labels: ['good'],
    promptsHash: 'p',
    settingsHash: 's',
    // biome-ignore lint/correctness/useYield: it asks nothing
    *script() {
      return {
        ruling: {
          label: 'good',
          scores: {},
          rationale: '',
          decidedBy: 'judge',
          rounds: 0,
          evidence: { support: [], oppose: [], precedents: [] },
          degraded: [],
        },
      }
    },
    ...change,
  }
}

export const noLibrary: Pick<Library, 'find' | 'embedder'> = {
  embedder: 'none',
  find: async ({ shelves }) => ({
    shelves: shelves.map((shelf) => ({ shelf, neighbours: [], problem: 'there is no library' })),
    weak: null,
    tokens: 0,
  }),
}

export const noImages: LoadImage = async () => {
  throw new PermanentError('image', 'there are no images here')
}
