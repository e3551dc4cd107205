import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { loadSettings } from '../../config/load.ts'
import { judgeFileSubjects } from '../../src/commands/judging/file-judging.ts'
import { startUnderstudy, type Understudy } from '../../src/kit/understudy/server.ts'
import { message } from '../../src/lab/evaluation/file-message.ts'
import { modelOf } from '../../src/service/composition/gateway.ts'
import type { Verdict } from '../../src/service/domain/verdict.ts'
import type { Library } from '../../src/service/ports/library.ts'
import type { Model } from '../../src/service/ports/model.ts'
import { noLibrary } from '../support/parts.ts'

// The settings file, and the examples of the documents, as they were before there were endpoints, dialects and tiers (91ead49).

let running: Understudy | undefined
afterEach(() => running?.close())

const AT = Date.UTC(2026, 0, 1)
const MESSAGES = [
  message('post', 'p', 1, AT, { id: 'p', text: 'The mill by the river is on fire.' }),
  ...['I saw it, it is true', 'No, that is false, fake news'].map((text, n) =>
    message('comment', 'p', n + 2, AT + n + 1, { id: `c${n}`, postId: 'p', author: `a${n}`, text }),
  ),
]

/** The verdict under a file of that time, by a server of that time, and which models were asked. */
async function judged(file: string, protocol: string): Promise<{ verdict: Verdict; asked: string[] }> {
  running = await startUnderstudy({ dialect: 'openai-before' })
  const settings = loadSettings({ ...running.settings }, join(import.meta.dirname, 'earlier', file))
  const verdicts: Verdict[] = []
  const asked = new Set<string>()
  const inner = modelOf(settings)
  const model: Model = {
    complete(request) {
      asked.add(request.model)
      return inner.complete(request)
    },
  }
  const library = { ...noLibrary, close: async () => {} } as unknown as Library
  const failures: string[] = []
  await judgeFileSubjects(
    settings,
    {
      ...{ protocol, file: 'none.jsonl', format: 'gavel', finalAge: Number.POSITIVE_INFINITY, library, model },
      async *messages() {
        yield* MESSAGES
      },
    },
    {
      ...{ signal: new AbortController().signal, corrected: () => {}, unrouted: () => {} },
      judged: (verdict) => verdicts.push(verdict),
      refused: (why) => failures.push(why),
      failed: (why) => failures.push(why),
    },
  )
  expect(failures).toEqual([])
  const [verdict] = verdicts
  if (verdict === undefined) throw new Error('no verdict')
  return { verdict, asked: [...asked].sort() }
}

test.each([
  ['whole.yaml', 'rumor', ['gpt-4o-mini']],
  ['whole.yaml', 'hate', ['gpt-4o-mini']],
  ['whole.yaml', 'safety', ['gpt-4o', 'gpt-4o-mini']],
  ['small-model.yaml', 'hate', ['smollm2']],
  ['other-models.yaml', 'hate', ['large-model', 'small-model']],
  ['limits.yaml', 'hate', ['gpt-4o', 'gpt-4o-mini']],
] as const)('%s still judges (%s)', async (file, protocol, models) => {
  const { verdict, asked } = await judged(file, protocol)
  expect(verdict.label).not.toBeNull()
  expect(asked).toEqual(models)
})

test('what it said of prices still counts', async () => {
  const { usage } = (await judged('whole.yaml', 'rumor')).verdict
  const { promptTokens, cachedTokens, completionTokens } = usage
  expect(usage.costUsd).toBeCloseTo(
    (0.15 * (promptTokens - cachedTokens) + 0.075 * cachedTokens + 0.6 * completionTokens) / 1e6,
    12,
  )
})
