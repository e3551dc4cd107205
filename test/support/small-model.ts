import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { tell } from './pipeline.ts'

/**
 * A real small model behind llama.cpp's server, as docs/small-model.md has it: `SMALL_MODEL` is the GGUF file, `SMALL_MODEL_PYTHON` a
 * Python that has xllamacpp.
 */
const { SMALL_MODEL: file = '', SMALL_MODEL_PYTHON: python = '' } = process.env
export const isSmallModelHere = [file, python].every((one) => one !== '' && existsSync(one))
if (!isSmallModelHere)
  tell('skipped: SMALL_MODEL (a GGUF file) or SMALL_MODEL_PYTHON (a Python that has xllamacpp) is missing')

/** It ends with this process, however that ends. */
const SERVE = `
import sys, xllamacpp
settings = xllamacpp.CommonParams()
settings.model.path, settings.hostnames, settings.port = sys.argv[1], ['127.0.0.1'], int(sys.argv[2])
settings.n_parallel, settings.n_ctx, settings.warmup = 1, 8192, False
settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(settings)
sys.stdin.read()
`

/** Starts it: the base URL, and what ends it. */
export async function startSmallModel(): Promise<[baseUrl: string, end: () => void]> {
  const port = await freePort()
  const server = spawn(python, ['-c', SERVE, file, String(port)], { stdio: ['pipe', 'ignore', 'ignore'] })
  const end = () => void server.kill('SIGKILL')
  for (let waited = 0; waited < 300; waited++) {
    const health = await fetch(`http://127.0.0.1:${port}/health`).catch(() => null)
    if (health?.ok) return [`http://127.0.0.1:${port}/v1`, end]
    if (server.exitCode !== null) throw new Error(`the server ended with ${server.exitCode}`)
    await sleep(1_000)
  }
  end()
  throw new Error('the server does not come up')
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (typeof address !== 'object' || address === null) throw new Error('no port')
  return address.port
}
