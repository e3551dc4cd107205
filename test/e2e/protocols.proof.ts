import { it } from 'vitest'
import { judgeOneStream } from './protocols.ts'

it('all four protocols judge a long stream at once: nothing lost, nothing twice', () =>
  judgeOneStream({ posts: 440, replies: 60 }))
