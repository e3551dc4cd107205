import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { RetryLaterError } from '../../../src/contracts/facts/errors.ts'
import { breakingFile, isGone, thisProcess, withLock } from '../../../src/shelves/lancedb/lock.ts'

const LOCK = JSON.stringify(join(import.meta.dirname, '..', '..', '..', 'src', 'shelves', 'lancedb', 'lock.ts'))
/** No lock is taken because of its age. */
const NEVER = { staleMs: Number.POSITIVE_INFINITY }
const SILENT_MS = 1_000

let folder: string
let file: string
let children: ChildProcess[]
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gavel-lock-'))
  file = join(folder, 'lock')
  children = []
})
afterEach(() => {
  for (const child of children) child.kill('SIGKILL')
  rmSync(folder, { recursive: true })
})

/** A process that holds the lock until it is killed. */
async function holder(): Promise<ChildProcess> {
  const script = join(folder, 'holder.ts')
  writeFileSync(
    script,
    `import { withLock } from ${LOCK}
     await withLock(${JSON.stringify(file)}, async () => {
       process.send('held')
       await new Promise((resolve) => setTimeout(resolve, 600_000))
     })`,
  )
  const child = fork(script)
  children.push(child)
  await once(child, 'message')
  return child
}

async function killed(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

/** The line by which a process that has ended named itself. */
async function endedProcess(): Promise<string> {
  const child = await holder()
  await killed(child)
  const content = readFileSync(file, 'utf8')
  rmSync(file)
  return content.slice(content.indexOf(' ') + 1)
}

describe.runIf(process.platform === 'linux')('the lock of a folder', () => {
  it('whose holder was killed is free however long a lock lasts, on the same machine', async () => {
    await killed(await holder())
    expect(existsSync(file)).toBe(true)
    expect(await withLock(file, async () => 'done', NEVER)).toBe('done')
    expect(existsSync(file)).toBe(false)
  })

  it('is kept by a holder that is only suspended', async () => {
    const child = await holder()
    child.kill('SIGSTOP')
    const work = vi.fn(async () => {})
    const waiting = withLock(file, work, NEVER)
    await sleep(SILENT_MS)
    expect(work).not.toHaveBeenCalled()
    await killed(child)
    await waiting
    expect(work).toHaveBeenCalled()
  })

  it('is lost to another process, which its holder hears before it writes, and leaves alone', async () => {
    await withLock(file, async (stillHeld) => {
      await stillHeld()
      writeFileSync(file, 'another-token')
      await expect(stillHeld()).rejects.toThrow(RetryLaterError)
      rmSync(file)
      await expect(stillHeld()).rejects.toThrow(RetryLaterError)
      writeFileSync(file, 'another-token')
    })
    expect(readFileSync(file, 'utf8')).toBe('another-token')
  })

  it('is not held up by a process that was killed while it freed it', async () => {
    const ended = await endedProcess()
    writeFileSync(file, `a-token ${ended}`)
    writeFileSync(breakingFile(file), `another-token ${ended}`)
    expect(await withLock(file, async () => 'done', NEVER)).toBe('done')
    expect(existsSync(breakingFile(file))).toBe(false)
  })

  it('goes by its age alone where its holder ran elsewhere, or says nothing of itself', async () => {
    const ended = await endedProcess()
    const elsewhere = ended.replace(/^\S+/, '00000000-0000-0000-0000-000000000000')
    const agesOut = async (content: string, nth: number) => {
      const own = `${file}-${nth}`
      writeFileSync(own, content)
      const work = vi.fn(async () => {})
      const waiting = withLock(own, work, NEVER)
      await sleep(SILENT_MS)
      expect(work).not.toHaveBeenCalled()
      rmSync(own)
      await waiting
      writeFileSync(own, content)
      await withLock(own, work, { staleMs: 50 })
    }
    await Promise.all(['a-token', `a-token ${elsewhere}`, ''].map(agesOut))
  })
})

describe.runIf(process.platform === 'linux')('a process, named by a line,', () => {
  it('is gone when it has ended, or its id is another process’s', async () => {
    const [mine, ended] = [await thisProcess(), await endedProcess()]
    expect(await isGone(mine)).toBe(false)
    expect(await isGone(ended)).toBe(true)
    expect(await isGone(mine.replace(/\d+$/, '1'))).toBe(true)
  })

  it('is not known to be gone where its id means nothing here', async () => {
    const ended = await endedProcess()
    expect(await isGone(ended.replace(/^\S+/, 'another-boot'))).toBe(false)
    expect(await isGone(ended.replace(/pid:\[\d+\]/, 'pid:[1]'))).toBe(false)
    for (const line of ['', 'a b c', `${ended} more`]) expect(await isGone(line)).toBe(false)
  })
})
