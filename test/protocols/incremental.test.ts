import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import { promptsOf } from '../../src/app/composition/make-protocols.ts'
import { byTimeThenId, type Comment, type Snapshot } from '../../src/contracts/facts/thread.ts'
import { rumor } from '../../src/protocols/rumor/index.ts'
import { By, drive, plainFence, plainRank } from './drive.ts'

const { enabled: _, ...shipped } = loadSettings({}).protocols.rumor as { enabled: boolean }

/** What people say, in several spellings, some a typo apart; each long enough to be told from decoration. */
const WORDS = [
  'the old bridge has fallen into the river this morning and nobody was hurt',
  'the old brigde has fallen into the river this morning and nobody was hurt',
  'no it stands',
  'i saw it fall',
  'source please',
  'that was last year',
  'my brother works there',
  'fake news again',
]
const SPELLINGS = [(said: string) => said, (said: string) => said.toUpperCase(), (said: string) => `${said}!`]
const plain = (text: string) => text.toLowerCase().replace(/!$/, '')

/** A model's stance on the words, however they are spelt: one of few values, so that there are ties. */
function stanceOf(model: string, text: string): number {
  const [byte = 0] = createHash('sha256')
    .update(`${model} ${plain(text)}`)
    .digest()
  return [-1, -0.5, 0, 0.5, 1][byte % 5] ?? 0
}

interface Run {
  readonly ruling: unknown
  readonly carry: unknown
  /** The texts that were shown to the scorer, of all its questions. */
  readonly shown: readonly string[]
}

function run(protocol: ReturnType<typeof rumor.make>, subject: Snapshot, carry: unknown, model: string): Run {
  const { asked, conclusion } = drive(protocol.script(subject, carry), ({ ask }) => {
    const shown = textsIn(ask.messages.at(-1)?.content)
    if (ask.stage === 'subjectivity') return new By(model, { reason: 'r', answer: 'No' })
    if (ask.stage !== 'stance') return new By(model, { reasoning: 'r', answer: 'Fake' })
    const scores = shown.map((text, at) => ({ comment: at + 1, reason: 'r', score: stanceOf(model, text) }))
    return new By(model, { scores })
  })
  const stances = asked.filter(({ ask }) => ask.stage === 'stance')
  const { evidence, scores, comments } = conclusion.ruling
  return {
    ruling: { evidence, scores, comments },
    carry: JSON.parse(JSON.stringify(conclusion.carry)),
    shown: stances.flatMap(({ ask }) => textsIn(ask.messages.at(-1)?.content)),
  }
}

const textsIn = (content = '') => [...content.matchAll(/<comment \d+\|([^>]*)>/g)].map(([, text = '']) => text)

/** What is left of these texts when each of the others has taken away one like it. */
function without(texts: readonly string[], others: readonly string[]): string[] {
  const left = [...others]
  return texts.filter((one) => {
    const at = left.indexOf(one)
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
}

/** One step of a thread's life: comments come, are edited or go, and another model may answer from then on. */
const text = fc.tuple(fc.constantFrom(...WORDS), fc.constantFrom(...SPELLINGS)).map(([said, spelt]) => spelt(said))
const step = fc.record({
  come: fc.array(
    fc.record({ text, author: fc.constantFrom('x', 'y', 'z'), createdAt: fc.integer({ min: 1, max: 9 }) }),
    {
      maxLength: 6,
    },
  ),
  edited: fc.array(fc.record({ which: fc.nat(), text }), { maxLength: 2 }),
  gone: fc.array(fc.nat(), { maxLength: 2 }),
  model: fc.constantFrom('small', 'small', 'small', 'large'),
})
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never

function after(comments: readonly Comment[], { come, edited, gone }: Step, nth: number) {
  const next = comments.map((comment) => ({ ...comment }))
  for (const { which, text: words } of edited) {
    const comment = next[which % Math.max(1, next.length)]
    if (comment !== undefined) comment.text = words
  }
  for (const which of gone) next.splice(which % Math.max(1, next.length), 1)
  return [...next, ...come.map((one, at) => ({ ...one, id: `c${nth}-${at}` }))].sort(byTimeThenId)
}

test.each([
  ['as shipped', {}],
  ['without folding', { foldNearIdentical: false }],
  ['with ties in order of time', { ties: 'time' }],
  ['with any number of comments an author', { perAuthor: null }],
])('a thread judged revision by revision has the sides and counts of one judged afresh, %s', (_name, change) => {
  const made = rumor.make({
    settings: { ...shipped, k: 2, ...change },
    prompts: promptsOf('rumor'),
    fence: plainFence,
    samplingRank: plainRank,
    files: () => new Map<string, string>(),
  })
  fc.assert(
    fc.property(fc.array(step, { minLength: 2, maxLength: 6 }), (steps) => {
      let comments: Comment[] = []
      let before: Run | null = null
      /** Whose scores are carried: who answers now, as soon as anything is asked. */
      let scorer = 'small'
      for (const [nth, one] of steps.entries()) {
        const known = new Set(comments.map(({ id, text: words }) => `${id} ${words}`))
        comments = after(comments, one, nth)
        const fresh = comments
          .filter(({ id, text: words }) => !known.has(`${id} ${words}`))
          .map(({ text: words }) => words)
        const subject: Snapshot = { post: { id: 'p', text: 'The bridge.', createdAt: 0 }, comments, leftOut: 0 }
        const now = run(made, subject, before?.carry ?? null, one.model)
        const changed = now.shown.length > 0 && one.model !== scorer && before !== null
        if (now.shown.length > 0) scorer = one.model
        const afresh = run(made, subject, null, scorer)
        expect(now.ruling).toEqual(afresh.ruling)
        // Another model is asked about everything, the same one about nothing that it was asked about just before: folded, no
        // text of then; else no comment of then, though others may say the same.
        if (changed) expect([...now.shown].sort()).toEqual([...afresh.shown].sort())
        else if (!('foldNearIdentical' in change))
          expect(now.shown.filter((words) => before?.shown.includes(words))).toEqual([])
        else if (before !== null) expect(without(now.shown, fresh)).toEqual([])
        before = now
      }
    }),
    { numRuns: 150 },
  )
})
