import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { runFolder } from '../../../src/app/commands/judging/kept-runs.ts'
import { ownFolder } from '../../support/own-folder.ts'

const REAL = loadSettings({ OPENAI_API_KEY: 'a-key', OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' })
const of = { source: 'posts.jsonl', called: 'posts.jsonl' }
const runsIn = () => join(ownFolder('kept-runs'), '.gavel', 'runs')

/** A run that was used so many hours ago. */
function run(runs: string, name: string, hours: number, bytes = 10): string {
  const folder = join(runs, name)
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'answers.jsonl')
  writeFileSync(file, '')
  truncateSync(file, bytes)
  const at = new Date(Date.now() - hours * 3_600_000)
  utimesSync(file, at, at)
  return folder
}

const said: string[] = []
const say = (line: string) => void said.push(line)

describe('the folder of a run’s answers', () => {
  it('is the same for the same command, and another for another file, protocol or endpoint, or without a model', async () => {
    const runs = runsIn()
    const own = await runFolder(REAL, of, say, runs)
    expect(await runFolder(REAL, of, say, runs)).toBe(own)
    const others = [
      await runFolder(REAL, { ...of, source: 'other/posts.jsonl' }, say, runs),
      await runFolder(REAL, { ...of, protocol: 'hate' }, say, runs),
      await runFolder(
        loadSettings({ OPENAI_API_KEY: 'a-key', OPENAI_BASE_URL: 'http://127.0.0.1:2/v1' }),
        of,
        say,
        runs,
      ),
      await runFolder(loadSettings({}), of, say, runs),
    ]
    expect(new Set([own, ...others]).size).toBe(5)
  })

  it('can be read by this user alone, whatever was there before, and is ignored by git', async () => {
    const runs = runsIn()
    mkdirSync(runs, { recursive: true })
    chmodSync(runs, 0o755)
    await runFolder(REAL, of, say, runs)
    expect(statSync(runs).mode & 0o777).toBe(0o700)
    expect(existsSync(join(runs, '.gitignore'))).toBe(true)
  })

  it('is refused among other things, which stay as they are', async () => {
    const runs = runsIn()
    mkdirSync(join(runs, 'photographs'), { recursive: true })
    chmodSync(runs, 0o755)
    await expect(runFolder(REAL, of, say, runs)).rejects.toThrow('holds other things')
    expect([readdirSync(runs), statSync(runs).mode & 0o777]).toEqual([['photographs'], 0o755])
  })

  it('is refused where a link leads elsewhere', async () => {
    const runs = runsIn()
    const elsewhere = ownFolder('elsewhere')
    mkdirSync(join(runs, '..'), { recursive: true })
    symlinkSync(elsewhere, runs)
    await expect(runFolder(REAL, of, say, runs)).rejects.toThrow('is a link')
    expect(readdirSync(elsewhere)).toEqual([])
  })

  it('is the next one while a process is at work in it', async () => {
    const runs = runsIn()
    const own = await runFolder(REAL, of, say, runs)
    mkdirSync(own)
    writeFileSync(join(own, 'in-use'), `${hostname()} ${process.pid}`)
    expect(await runFolder(REAL, of, say, runs)).toBe(`${own}-2`)
    expect(said.join()).toContain(`process ${process.pid} on ${hostname()}`)
  })

  it('is its own again when that process has ended, also where nobody takes note of its end', async () => {
    const runs = runsIn()
    const own = await runFolder(REAL, of, say, runs)
    mkdirSync(own)
    const parent = spawn('sh', ['-c', 'sh -c exit & echo $!; exec sleep 60'], { stdio: ['ignore', 'pipe', 'ignore'] })
    try {
      const [ended] = (await once(parent.stdout, 'data')) as [Buffer]
      writeFileSync(join(own, 'in-use'), `${hostname()} ${ended.toString().trim()}`)
      await expect.poll(() => runFolder(REAL, of, say, runs), { timeout: 10_000 }).toBe(own)
    } finally {
      parent.kill('SIGKILL')
    }
  })

  it('has a name that leads nowhere else', async () => {
    const runs = runsIn()
    for (const called of ['../../etc/passwd', '..', '.', 'a b\u001b[2J/c\nd', '-'])
      expect(await runFolder(REAL, { ...of, called }, say, runs)).toMatch(
        /\/\.gavel\/runs\/[\p{L}\p{N}_][\p{L}\p{N}._-]*$/u,
      )
  })
})

describe('older runs', () => {
  it('are deleted, longest unused first, when there are more than twenty', async () => {
    const runs = runsIn()
    await runFolder(REAL, of, say, runs)
    for (let hours = 1; hours <= 25; hours++) run(runs, `r${hours}`, hours)
    const theirs = join(runs, 'theirs')
    mkdirSync(theirs)
    utimesSync(theirs, new Date(0), new Date(0))
    await runFolder(REAL, of, say, runs)
    expect(existsSync(theirs), 'what is no run stays').toBe(true)
    const left = readdirSync(runs).filter((name) => name.startsWith('r'))
    expect(left.sort()).toEqual(Array.from({ length: 19 }, (_, n) => `r${n + 1}`).sort())
  })

  it('are deleted when they take more than a gibibyte together; not one that is in use', async () => {
    const runs = runsIn()
    await runFolder(REAL, of, say, runs)
    run(runs, 'new', 1, 700 * 1024 ** 2)
    const busy = run(runs, 'busy', 2, 700 * 1024 ** 2)
    writeFileSync(join(busy, 'in-use'), `${hostname()} ${process.pid}`)
    utimesSync(join(busy, 'in-use'), new Date(0), new Date(0))
    run(runs, 'old', 3, 10)
    await runFolder(REAL, of, say, runs)
    expect(readdirSync(runs).sort()).toEqual(['.gitignore', 'busy', 'new'])
  })
})
