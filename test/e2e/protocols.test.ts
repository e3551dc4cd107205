import { it } from 'vitest'
import { judgeOneStream } from './protocols.ts'

it('all four protocols judge one stream at once: nothing lost, nothing twice', { timeout: 280_000 }, () =>
  judgeOneStream({ posts: 110, replies: 20 }),
)
