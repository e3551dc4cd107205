import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadSettings, PROJECT } from '../../config/load.ts'
import { startEmbedded } from '../../src/app/embedded/embedded.ts'
import { newApiKey } from '../../src/contracts/facts/api-key.ts'
import { changeKeys } from '../../src/door/server/key-file.ts'
import { understudyModel } from '../../src/kit/bench/model.ts'
import { findOnPath, runCommand } from '../../src/kit/stack/servers/command.ts'
import { ownFolder } from '../support/own-folder.ts'
import { tell } from '../support/pipeline.ts'

// What others have written against the same interfaces, from PyPI, in a folder of its own beside other caches.

const PACKAGES = ['schemathesis==4.32.5', 'google-api-python-client==2.202.0', 'openai==3.57.0']
/** How long schemathesis asks, in seconds; GAVEL_FUZZ_SECONDS for a shorter look. */
const FUZZ_SECONDS = Number(process.env.GAVEL_FUZZ_SECONDS ?? 600)
const VENV = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'gavel', 'door-clients')

let embedded: Awaited<ReturnType<typeof startEmbedded>>
let base = ''
let key = ''
/** Why the clients are not here; null where they are. */
let missing: string | null = null

beforeAll(async () => {
  missing = await broughtClients()
  if (missing !== null) tell(`SKIPPED the door's proof with others' clients: ${missing}`)
  const path = join(ownFolder('door-clients'), 'keys.json')
  const scopes = ['send', 'judge', 'read', 'decide'] as const
  const createdAt = new Date().toISOString()
  const made = newApiKey({ tenant: 'acme', scopes: [...scopes], by: 'acme', createdAt, expiresAt: null })
  const rate = { perSecond: 100_000, burst: 1_000_000 }
  await changeKeys(path, () => ({ keys: [{ ...made.kept, rate }], result: null }))
  key = made.key
  const settings = loadSettings({
    GAVEL_DOOR_PORT: '0',
    GAVEL_DOOR_KEYS: path,
    OPENAI_BASE_URL: 'http://127.0.0.1:9/v1',
  })
  embedded = await startEmbedded(settings, { model: understudyModel(), report: () => {} })
  base = `http://127.0.0.1:${embedded.doorPort}`
}, 600_000)
afterAll(() => embedded?.close())

async function broughtClients(): Promise<string | null> {
  const python = await findOnPath('python3')
  if (python === undefined) return 'there is no python3 on the PATH'
  try {
    if (!existsSync(join(VENV, 'bin', 'st'))) {
      await runCommand(python, ['-m', 'venv', VENV], 120_000)
      await runCommand(join(VENV, 'bin', 'pip'), ['install', '--quiet', ...PACKAGES], 400_000)
    }
    return null
  } catch (error) {
    return `PyPI's packages could not be brought (${error instanceof Error ? error.message.slice(0, 200) : 'unknown'})`
  }
}

test("Google's and OpenAI's clients work with nothing changed but the address", async (context) => {
  if (missing !== null) return context.skip(missing)
  const script = join(PROJECT, 'test', 'proofs', 'door-clients.py')
  const said = await runCommand(join(VENV, 'bin', 'python'), [script, base, key], 120_000)
  const { scores, ...others } = JSON.parse(said.split('\n').find((line) => line.startsWith('{')) ?? '')
  expect(scores.attributeScores.TOXICITY.summaryScore.value).toBeGreaterThan(0.5)
  expect(others).toEqual({
    suggested: { clientToken: 't' },
    empty: [400, 'Comment must be non-empty.'],
    stranger: [400, 'API key not valid. Please pass a valid API key.'],
    model: expect.stringMatching(/^gavel-2-/),
    flagged: [true, false],
  })
})

test(`schemathesis asks for ${FUZZ_SECONDS} s, and meets no 5xx and no answer that the document has not`, async (context) => {
  if (missing !== null) return context.skip(missing)
  const checks = 'not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance'
  // It keeps what it has met in the folder that it is in.
  const said = await runCommand(
    '/bin/sh',
    [
      '-c',
      'cd "$0" && exec "$@"',
      ownFolder('door-fuzz'),
      join(VENV, 'bin', 'st'),
      'run',
      `${base}/openapi.json`,
      '-H',
      `authorization: Bearer ${key}`,
      '--checks',
      checks,
      '--request-timeout',
      '70',
      '--continue-on-failure',
      '--max-time',
      String(FUZZ_SECONDS),
    ],
    (FUZZ_SECONDS + 300) * 1_000,
  )
  tell(said.trim().split('\n').slice(-12).join('\n'))
  // A failure of one of the checks is an exit code, and rejects.
  expect(said).toMatch(/passed/)
})
