#!/usr/bin/env node
// The command as npx starts it, on whatever Node is there. Sources and build need Node >= 22.18: where the machine's own is
// older, the one that npm brought along (devDependency `node`) takes over.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { nodeEnvironment, nodeFlags } from './node-flags.js'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
const recent = major > 22 || (major === 22 && minor >= 18)
const brought = join(root, 'node_modules', 'node', 'bin', 'node')
const sources = join(root, 'src', 'main.ts')
const main = existsSync(sources) ? sources : join(root, 'dist', 'src', 'main.js')

if (!recent && !existsSync(brought)) {
  process.stderr.write(
    `gavel needs Node 22.18 or newer; this is ${process.version}. Install a newer Node, or run "npm ci" first.\n`,
  )
  process.exit(1)
}

const child = spawn(
  recent ? process.execPath : brought,
  [...nodeFlags(process.env.NODE_OPTIONS), main, ...process.argv.slice(2)],
  {
    stdio: 'inherit',
    env: nodeEnvironment(process.env),
  },
)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 1)))
