import { execFileSync, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { PROJECT } from '../../config/load.ts'
import { bareEnvironment } from '../support/bare-environment.ts'
import { commandIn } from '../support/command-in.ts'
import { onServers } from '../support/on-servers.ts'
import { ownFolder } from '../support/own-folder.ts'
import { environmentOn, eventually, protocolsOn, tell } from '../support/pipeline.ts'

const it = onServers({ latencyMs: 10 })
const folder = ownFolder('own-stream')
const PAGE = readFileSync(join(PROJECT, 'docs', 'own-stream.md'), 'utf8')

/** The page's blocks in this language. */
const blocks = (language: string) =>
  [...PAGE.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(([, text = '']) => text)

/** The words of a line of the page that is typed. */
const typed = (line: string) => line.replace(/#.*/, '').trim().split(/\s+/)

it('docs/own-stream.md, typed line by line, ends with a verdict and its retraction', { timeout: 300_000 }, async ({
  stack,
  start,
}) => {
  const environment = environmentOn(stack, protocolsOn('hate'))
  const topic = `own-${environment.GAVEL_KAFKA_TOPIC_PREFIX}forum.events`
  // Others use this Kafka, too: the topic has another name here, and nothing else differs.
  const onOwn = (text: string) => text.replaceAll('forum.events', topic)
  writeFileSync(join(folder, 'own.yaml'), onOwn(blocks('yaml')[0] ?? ''))
  const lines = blocks('sh').join('\n')
  const heredoc = /^cat > samples\.jsonl <<'END'\n[\s\S]*?^END\n/m.exec(lines)?.[0] ?? ''
  execFileSync('sh', ['-c', heredoc], { cwd: folder })
  const commands = lines.split('\n').filter((line) => line.startsWith('npx gavel'))
  const run = async (line: string) => {
    const args = typed(onOwn(line)).slice(2)
    const done = await commandIn(folder, args, environment)
    tell(`${line}: ${done.code}`)
    return done
  }
  const command = (start: string) => commands.find((line) => line.startsWith(`npx gavel ${start}`)) ?? 'none'

  const tried = await run(command('map try'))
  expect(tried.code, tried.said).toBe(0)
  const [printed = ''] = blocks('text')
  const shown = printed
    .trim()
    .split('\n')
    .map((line) => line.split('…')[0] ?? '')
  for (const [nth, line] of tried.out
    .replaceAll(environment.GAVEL_KAFKA_TOPIC_PREFIX ?? '', 'gavel.')
    .trim()
    .split('\n')
    .entries())
    expect(line.startsWith(shown[nth] ?? 'more lines than on the page'), line).toBe(true)

  expect((await run(command('produce'))).out).toContain(`3 sent to ${topic}`)
  const checked = await run(command('doctor'))
  expect(checked.code, checked.out).toBe(0)
  await start(environment, undefined, undefined, ['--config', join(folder, 'own.yaml')])
  const following = spawn(process.execPath, [join(PROJECT, 'src', 'main.ts'), ...typed(command('verdicts')).slice(2)], {
    cwd: folder,
    env: bareEnvironment(environment),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    let seen = ''
    following.stdout.on('data', (chunk) => {
      seen += chunk
    })
    await eventually(
      async () => /\b7\b/.test(seen),
      60_000,
      () => seen,
    )
    const post = await run(command('show'))
    expect(post.code, post.said).toBe(0)
    expect(post.out).toContain('It is closed, they say.')
    expect((await run(command('dead-letters list'))).code).toBe(0)
    const [, gone = '', send = ''] = /`(echo [^`]+)`, then `(npx gavel produce[^`]+)`/.exec(PAGE) ?? []
    execFileSync('sh', ['-c', gone], { cwd: folder })
    expect((await run(send)).code).toBe(0)
    await eventually(
      async () => /deleted|retract/.test(seen),
      60_000,
      () => seen,
    )
    tell(seen)
  } finally {
    following.kill()
  }
})
