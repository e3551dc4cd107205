import { expect, it } from 'vitest'
import { orphanLetters } from '../../producers/dead-letter.ts'
import { originOf } from '../contracts/samples.ts'

it('says of how many comments the letter is that stands for those beyond what their thread keeps', () => {
  const details: string[] = []
  const letterOf = orphanLetters((_, event) => {
    details.push(String('detail' in event && event.detail))
  })
  for (const some of [{}, { raw: '' }, { raw: '', standsFor: 99_488 }]) {
    const { letter } = letterOf({ ...originOf('c1'), ...some })
    expect(JSON.parse(letter)).toMatchObject({ reason: 'orphan-expired', detail: details.at(-1) })
  }
  expect(details).toEqual([
    'the post never arrived',
    "the post never arrived; comment was over the thread's cap, content not stored",
    "the post never arrived; the last of 99488 comments over the thread's cap, nothing of the others stored",
  ])
})
