import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { type App, startApp } from '../../src/app/composition/service.ts'
import { type Stack, startStack } from '../../src/kit/stack/stack.ts'
import { ownFolder } from '../support/own-folder.ts'
import { allFinal, environmentOn, send, settingsOf, verdictsOf } from '../support/pipeline.ts'

let stack: Stack
const apps: App[] = []
const environments: Record<string, string>[] = []
beforeAll(async () => {
  stack = await startStack({}, { kafka: 'memory', say: () => {}, understudy: { latencyMs: 5 } })
  for (const name of ['g0', 'g1']) {
    const own = { GAVEL_NAME: name, GAVEL_LOG_LEVEL: 'silent', GAVEL_CLOCK_IDLE_AFTER: '300ms' }
    const environment = environmentOn(stack, own)
    environments.push(environment)
    apps.push(await startApp(settingsOf(environment), ['intake', 'judge', 'publish']))
  }
}, 120_000)
afterAll(async () => {
  for (const app of apps) await app.stop()
  await stack?.close()
})

it('two Gavels divide a stream as the page says: each thread whole in one, each post judged once', async () => {
  const folder = ownFolder('divided')
  const page = readFileSync(join(PROJECT, 'docs', 'scale.md'), 'utf8')
  const [, script = ''] = /```js\n(.*?)```/s.exec(page) ?? []
  writeFileSync(join(folder, 'divide.mjs'), script)
  const posts = Array.from({ length: 12 }, (_, at) => `dam-${at}`)
  const createdAt = '2026-01-01T00:00:00Z'
  const messages = posts.flatMap((id) => [
    { type: 'post', id, text: `The dam above ${id} has burst, they say.`, createdAt },
    { type: 'comment', id: `${id}-a`, postId: id, text: 'It is true, I saw it.', createdAt },
    { type: 'comment', id: `${id}-b`, postId: id, text: 'That is fake, it stands.', createdAt },
  ])
  const input = messages.map((one) => JSON.stringify(one)).join('\n')
  execFileSync(process.execPath, ['divide.mjs', '2'], { cwd: folder, input })
  const parts = ['part-0.jsonl', 'part-1.jsonl'].map((name) => join(folder, name))
  const sent = parts.map((file) =>
    readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  )
  expect(sent.map(({ length }) => length).reduce((sum, one) => sum + one, 0)).toBe(messages.length)
  for (const [nth, file] of parts.entries()) await send(environments[nth] ?? {}, file, 'gavel', { kind: 'flat-out' })
  const judged: string[] = []
  for (const [nth, environment] of environments.entries()) {
    const own = new Set(sent[nth]?.map(({ postId, id }) => postId ?? id))
    expect(own.size).toBeGreaterThan(0)
    await allFinal(environment, own.size, 60_000)
    const verdicts = (await verdictsOf(environment)).filter(({ final }) => final)
    expect(new Set(verdicts.map(({ subjectId }) => subjectId))).toEqual(own)
    for (const { comments } of verdicts as unknown as { comments?: { read: number } }[]) // Lines of a file, read as this test needs them.
      if (comments !== undefined) expect(comments.read).toBe(2)
    judged.push(...verdicts.map(({ subjectId }) => subjectId))
  }
  expect(judged.sort()).toEqual(posts.sort())
}, 120_000)
