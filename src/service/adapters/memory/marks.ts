import type { StreamMark, StreamMarks } from '../../ports/threads.ts'

/** How far the stream has been read, in memory. */
export function memoryMarks(): StreamMarks {
  let marks: ReadonlyMap<string, StreamMark> = new Map()
  return {
    read: async () => marks,
    async write(changed) {
      marks = new Map([...marks, ...changed])
    },
  }
}
