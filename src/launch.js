#!/usr/bin/env node
// The command as npx starts it, on whatever Node is there. Sources and build need Node >= 22.18: where the machine's own is
// older, the one that npm brought along (devDependency `node`) takes over.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { nodeEnvironment, nodeFlags } from './platform/node-flags.js'
import { watchNpm } from './platform/npm-parent.js'
import { isClone, root } from './platform/package-folder.js'

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
const recent = major > 22 || (major === 22 && minor >= 18)
const brought = join(root, 'node_modules', 'node', 'bin', 'node')
const main = isClone ? join(root, 'src', 'main.ts') : join(root, 'dist', 'src', 'main.js')

if (!recent && !existsSync(brought)) {
  process.stderr.write(
    `gavel needs Node 22.18 or newer; this is ${process.version}. ${isClone ? 'Run "npm ci" first, which brings one' : 'For npx, "npm install node@24" in the same folder brings one'}, or install it from nodejs.org.\n`,
  )
  process.exit(1)
}

const program = recent ? process.execPath : brought
const command = process.argv.slice(2)
const args = [...nodeFlags(process.env.NODE_OPTIONS, command), main, ...command]
// The variable that switches the watch over npm off is this file's alone: the settings know none of its name.
const { GAVEL_OUTLIVES_NPM: _, ...passedOn } = process.env
const env = nodeEnvironment(passedOn)
// The first process of a container becomes the service: nobody has to forward its signals, nor to hold memory meanwhile.
if (process.pid === 1 && process.execve !== undefined) process.execve(program, [program, ...args], env)

const child = spawn(program, args, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'], env })

// Signals go on as messages, for a terminal's reach the child by themselves: it must tell one Ctrl-C that came both ways from
// two (src/platform/stop-requests.ts). npm sends what the terminal has sent us already: within this time, in ms, it is the same one.
const SAME_SIGNAL_MS = 500
// A command that computes reads neither signal nor message: after the second request to stop it is killed, unless it ends by then.
const ENDS_WITHIN_MS = 500
const STOPPED_TWICE = 130
// A reload just before a stop must not hide it: each kind has a time of its own.
const last = { reload: Number.NEGATIVE_INFINITY, stop: Number.NEGATIVE_INFINITY }
let requests = 0
let killed = false
// What gives the terminal back that the command has taken; empty while it has not.
let terminalBack = ''
child.on('message', (said) => {
  if (typeof said?.terminalBack === 'string') terminalBack = said.terminalBack
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.on(signal, () => {
    const kind = signal === 'SIGHUP' ? 'reload' : 'stop'
    if (performance.now() - last[kind] < SAME_SIGNAL_MS) return
    last[kind] = performance.now()
    if (child.connected) child.send(signal, () => {}) // it may be ending just now
    if (signal === 'SIGHUP' || ++requests < 2) return
    setTimeout(() => {
      killed = child.kill('SIGKILL')
    }, ENDS_WITHIN_MS)
  })
watchNpm(process.env, () => {
  if (child.connected) child.send('npm exited', () => {})
})
child.on('exit', (code, signal) => {
  // It was not asked to: whoever sits there would see no cursor, and nothing of what they type.
  if (killed && terminalBack !== '') {
    process.stdout.write(terminalBack)
    spawnSync('stty', ['sane'], { stdio: 'inherit' })
  }
  process.exit(killed ? STOPPED_TWICE : (code ?? 128 + constants.signals[signal]))
})
