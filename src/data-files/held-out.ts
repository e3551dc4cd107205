import type { Library } from '../contracts/ports/library.ts'

/**
 * A library as an evaluation may look into it: no case finds the item that it is itself, by `sourceIdOf` its subject's id,
 * nor, unless they are kept, near-duplicates of its text. What was passed over is counted in each answer.
 */
export function heldOut(
  library: Pick<Library, 'find' | 'embedder'>,
  { sourceIdOf, keepNearDuplicates }: { sourceIdOf: (subjectId: string) => string; keepNearDuplicates: boolean },
): Pick<Library, 'find' | 'embedder'> {
  return {
    embedder: library.embedder,
    find: (wanted, subject, signal) =>
      library.find(
        { ...wanted, sourceId: sourceIdOf(subject.id), holdOutNearDuplicates: !keepNearDuplicates },
        subject,
        signal,
      ),
  }
}
