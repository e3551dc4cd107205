import { expect, test } from 'vitest'
import { newRequestId } from '../../src/contracts/facts/service-class.ts'
import type { VerdictAnswer } from '../../src/contracts/ports/answers.ts'
import { openQuestions } from '../../src/door/waiters.ts'

test('a question that is waited for again and left again counts until it ends, however slowly it was read before', async () => {
  const answer: VerdictAnswer = {
    subjectId: 'p',
    protocols: ['hate'],
    opened: 0,
    until: 1,
    verdicts: new Map(),
    transcripts: new Map(),
    erased: false,
  }
  const reads: (() => void)[] = []
  const questions = openQuestions({
    changed: (_, signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
    read: () => new Promise((resolve) => reads.push(() => resolve(answer))),
  })
  const over: string[] = []
  const closing = new AbortController()
  const id = newRequestId(true)

  const first = questions.left('default', id, closing.signal, () => over.push('first'))
  questions.waitedFor(id)
  expect(over).toEqual(['first'])
  const second = questions.left('default', id, closing.signal, () => over.push('second'))
  reads[0]?.()
  await first
  expect(over).toEqual(['first'])

  questions.waitedFor(id)
  expect(over).toEqual(['first', 'second'])
  reads[1]?.()
  await second
})
