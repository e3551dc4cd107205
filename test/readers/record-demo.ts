import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { loadSettings, PROJECT } from '../../config/load.ts'
import { judgeFileSubjects } from '../../src/app/commands/judging/file-judging.ts'
import type { Terminal } from '../../src/cli/terminal.ts'
import type { Model } from '../../src/contracts/ports/model.ts'
import type { FileMessage } from '../../src/data-files/file-message.ts'
import { fileMessages } from '../../src/data-files/formats.ts'
import { DEMO_DEBATES, DEMO_KEY } from '../../src/kit/demo/demo.ts'
import { EVENT, fillShelves } from '../../src/kit/demo/event.ts'
import { readRecordedAnswers, recordedModel, recordingsOf } from '../../src/kit/demo/recorded-answers.ts'
import { modelsOfEndpoints } from '../../src/models/openai/models-of-endpoints.ts'

/**
 * `OPENAI_BASE_URL=… OPENAI_API_KEY=… npm run readers:demo -- SETTINGS`: asks readers the demo's questions that have no
 * answer, and records what they say. A thread is judged whole, and then as it stood at each checkpoint of the demo.
 */
const FILE = join(PROJECT, 'config/demo/answers.jsonl')
const [config] = process.argv.slice(2)
const MINUTE = 60_000
/** What of a thread has come: so many comments, or those up to an age. */
const STANDS: readonly { readonly comments?: number; readonly age?: number }[] = [
  {},
  { age: 60 * MINUTE },
  { comments: 30 },
  { comments: 10 },
  { age: 2 * MINUTE },
]

const known = readRecordedAnswers(FILE)
const folder = await mkdtemp(join(tmpdir(), 'gavel-record-demo-'))
const given = loadSettings(
  { ...process.env, ...DEMO_DEBATES, GAVEL_LIBRARY_PATH: folder, GAVEL_FENCES_KEY: DEMO_KEY },
  config,
)

const terminal = {
  say: (line: string) => process.stderr.write(`${line}\n`),
  out() {},
  progress() {},
} as unknown as Terminal // a run of the demo says, and asks nothing of a terminal
const signal = new AbortController().signal
const readers = modelsOfEndpoints(given)

async function keep(): Promise<void> {
  const sorted = known.map((one) => JSON.stringify(one)).sort()
  await writeFile(FILE, [...new Set(sorted)].map((line) => `${line}\n`).join(''))
}

let isWholeScored = false
/** Scores of comments are asked for once, of the whole thread: as it stood before, they are waited for. */
function asking(isWhole: boolean): Model {
  return {
    async complete(request) {
      for (;;) {
        const recorded = await recordedModel(known, { complete: async () => Promise.reject(new Error('not recorded')) })
          .complete(request)
          .catch(() => null)
        if (recorded !== null) return recorded
        if (isWhole || isWholeScored || request.of?.stage !== 'stance') break
        await sleep(1_000)
      }
      const reply = await readers.complete(request)
      known.push(...recordingsOf(request, JSON.parse(reply.text ?? '{}')))
      await keep()
      return reply
    },
  }
}

function asItStood(
  messages: readonly FileMessage[],
  { comments: most = Infinity, age = Infinity }: (typeof STANDS)[number],
) {
  const posted = new Map(
    messages.flatMap(({ type, key, createdAt }) => (type === 'post' ? [[key, createdAt ?? 0]] : [])),
  )
  const seen = new Map<string, number>()
  return messages.filter(({ type, key, createdAt }) => {
    if (type !== 'comment') return true
    const count = (seen.get(key) ?? 0) + 1
    if (count > most || (createdAt ?? 0) > (posted.get(key) ?? 0) + age) return false
    return seen.set(key, count)
  })
}

try {
  await fillShelves(given, { terminal, signal })
  const all: FileMessage[] = []
  for await (const message of fileMessages(EVENT, 'gavel', () => {})) all.push(message)
  const judged = async (protocol: string, stands: (typeof STANDS)[number]) => {
    const messages = asItStood(all, stands)
    const file = {
      protocol,
      file: EVENT,
      format: 'gavel' as const,
      secret: DEMO_KEY,
      model: asking(Object.keys(stands).length === 0),
      finalAge: Infinity,
      keepNearDuplicates: true,
    }
    await judgeFileSubjects(
      given,
      {
        ...file,
        async *messages() {
          yield* messages
        },
      },
      { signal, judged() {}, refused() {}, corrected() {}, unrouted() {}, failed: terminal.say },
    )
    terminal.say(`${protocol} ${JSON.stringify(stands)}: ${known.length} answers`)
  }
  await Promise.all([
    ...['hate', 'safety', 'counterspeech'].map((protocol) => judged(protocol, {})),
    ...STANDS.map(async (stands) => {
      await judged('rumor', stands)
      // Of copies another one may have been asked about then.
      isWholeScored ||= Object.keys(stands).length === 0
    }),
  ])
} finally {
  await rm(folder, { recursive: true, force: true })
}
