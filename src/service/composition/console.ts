import { readdirSync, readFileSync } from 'node:fs'
import { BlockList, isIP } from 'node:net'
import { join } from 'node:path'
import { PROJECT } from '../../../config/load.ts'
import type { Settings } from '../../../config/schema.ts'
import { serveDoor } from '../adapters/door-server.ts'
import { openIdProvider } from '../adapters/openid.ts'
import { Blinds } from '../console/blinds.ts'
import { type Asset, consoleOf } from '../console/console.ts'
import { decidePage } from '../console/decide.ts'
import { Disturbing } from '../console/disturbing.ts'
import { healthPage, type Standing } from '../console/health.ts'
import type { Kinds } from '../console/kinds.ts'
import { livePages } from '../console/live.ts'
import { reviewPages } from '../console/review.ts'
import { searchPage } from '../console/search.ts'
import { notedQueue, notedRecord } from '../console/seen.ts'
import { Sessions } from '../console/sessions.ts'
import type { Way } from '../console/sign-in.ts'
import { Arriving } from '../console/stream.ts'
import { verdictPages } from '../console/verdict.ts'
import { entryOf } from '../domain/entry-of.ts'
import { OperatorError } from '../domain/errors.ts'
import { labelsForPeople } from '../engine/script.ts'
import { closable } from '../operations/closable.ts'
import type { Loops } from '../operations/loop.ts'
import type { Audit } from '../ports/audit.ts'
import type { Clock } from '../ports/clock.ts'
import type { Deciding } from '../ports/deciding.ts'
import type { RecordReader } from '../ports/record.ts'
import type { Report } from '../ports/report.ts'
import type { ReviewQueue } from '../ports/review.ts'
import { PROTOCOLS } from '../protocols/registry.ts'
import { protocolsOf } from './protocols.ts'

/** How often is looked for what has come into the record, in ms. */
const ARRIVALS_MS = 500
/** Longest time in which a request must have arrived, and that an idle connection is kept, in ms; most connections at a time. */
const [REQUEST_MS, KEEP_ALIVE_MS, CONNECTIONS] = [30_000, 75_000, 1_000]
/** Of the drain, what is left for the parts that close after the console. */
const DRAIN_SHARE = 0.8
/** Of a runbook so many steps stand on the page. */
const MOST_STEPS = 3

export interface Link {
  readonly person: string
  /** Prints the address of a link, where the operator sees it. */
  readonly print: (address: string) => void
  /** Nobody but the operator sees it later: another may be printed for who asks for one. */
  readonly isUnseen: boolean
}

/** The console over a record. When closed, what was asked is answered. */
export function consolePart(
  settings: Settings,
  parts: {
    record: RecordReader
    queue: ReviewQueue
    /** How the service stands now. */
    look: () => Promise<Standing>
    /** null: nobody decides here. */
    decide: Deciding | null
    /** Keeps who saw and did what; null: this console is its owner's alone. */
    audit: Audit | null
    /** Where people sign in by a link: the person that it signs in, and what prints its address. */
    link: Link | null
    /** Models' answers are the understudy's, as whoever has started it knows. */
    isUnderstudy?: boolean
    loops: Loops
    clock: Clock
    report: Report
  },
) {
  const { look, decide, link, audit, isUnderstudy = false, loops, clock, report } = parts
  const [record, queue] = [notedRecord(parts.record), notedQueue(parts.queue)]
  const { host, hosts, port, session, streams, publicUrl, people } = settings.console
  return closable(async (keep) => {
    const kinds = kindsOf(settings)
    const assets = readAssets()
    const style = assets
      .filter(({ name }) => name.endsWith('.css'))
      .map(({ bytes }) => Buffer.from(bytes).toString('utf8'))
    const sessions = new Sessions(session, clock)
    const arriving = new Arriving(record)
    const blinds = new Blinds(clock)
    const lists = { kinds, disturbing: new Disturbing(kinds) }
    const { claimFor } = settings.review
    loops.start('console arrivals', ARRIVALS_MS, () => arriving.look())
    const closing = new AbortController()
    const printLink = () => {
      const own = publicUrl === '' ? `http://${addressOf(host)}:${server.port}` : publicUrl
      link?.print(`${own}/sign-in/link?t=${sessions.link(link.person)}`)
    }
    const { fetch } = consoleOf({
      ...{ assets, sessions, people, publicUrl, audit, clock, report },
      way: wayOf(settings, link?.isUnseen === true ? printLink : null),
      closing: closing.signal,
      isUnderstudy,
      pages: [
        ...livePages({ record, arriving, ...lists, streams }),
        ...verdictPages({
          ...{ record, kinds, blinds, canDecide: decide !== null, clock, publicUrl },
          style: style.join(''),
        }),
        searchPage({ record, ...lists }),
        healthPage({
          ...{ look, runbook },
          forPeople: decide === null ? null : async () => (await parts.queue.list({}, 1, clock())).waiting,
        }),
        ...(decide === null
          ? []
          : [
              decidePage({ record, kinds, blinds, deciding: decide, clock }),
              ...reviewPages({ queue, record, kinds, blinds, deciding: decide, clock, claimFor }),
            ]),
      ],
    })
    const limits = { requestTime: REQUEST_MS, keepAlive: KEEP_ALIVE_MS, connections: CONNECTIONS }
    const server = await serveDoor(
      { host, hosts: publicUrl === '' ? hosts : [...hosts, new URL(publicUrl).hostname], port, ...limits },
      { fetch, refuse: () => ({ type: 'text/plain', body: 'This could not be read as a request.\n' }) },
      { whose: 'The console’s', portIn: 'GAVEL_CONSOLE_PORT' },
    )
    keep({
      close() {
        closing.abort()
        return server.close(settings.drain * DRAIN_SHARE)
      },
    })
    const refusal = server.isLoopback ? null : offLoopback(settings)
    if (refusal !== null) throw new OperatorError(`console.host (${host}) is not loopback, and ${refusal}`)
    return { port: server.port, printLink }
  })
}

/** What keeps the console from being reached from other machines; null if nothing does. */
function offLoopback({ console: { signIn, publicUrl } }: Settings): string | null {
  if (signIn === 'link')
    return 'a printed link works only on this machine. Set it to 127.0.0.1 and use an SSH tunnel, or set console.signIn to oidc or proxy.'
  if (!publicUrl.startsWith('https:'))
    return 'what people see and who they are would go over the network unencrypted. Set console.publicUrl to the https:// address of the proxy that ends TLS.'
  return null
}

function wayOf({ console: { signIn, oidc, proxy } }: Settings, print: (() => void) | null): Way {
  if (signIn === 'oidc') return { way: 'oidc', provider: openIdProvider(oidc) }
  if (signIn === 'proxy') return { way: 'proxy', ...proxy, peers: networksOf(proxy.peers) }
  return { way: 'link', print }
}

/** Addresses and networks, as in 10.1.0.0/16, to look an address up in. */
function networksOf(all: readonly string[]): BlockList {
  const list = new BlockList()
  for (const one of all) {
    const [address = '', bits] = one.split('/')
    const isLong = isIP(address) === 6
    list.addSubnet(address, Number(bits ?? (isLong ? 128 : 32)), isLong ? 'ipv6' : 'ipv4')
  }
  return list
}

function addressOf(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

/** What protocols say of themselves to people, those that are switched off too. */
function kindsOf(settings: Settings): Kinds {
  const on = Object.entries(settings.protocols).map(([name, own]) => [name, { ...own, enabled: true }])
  const { protocols } = protocolsOf({ ...settings, protocols: Object.fromEntries(on) }, '')
  return new Map(
    protocols.map((protocol) => {
      const kind = PROTOCOLS.find(({ name }) => name === protocol.name)
      return [
        protocol.name,
        {
          labels: labelsForPeople(protocol),
          ...kind?.labels,
          ...(kind?.reading === undefined ? {} : { reading: kind.reading }),
          ...(protocol.meanings === undefined ? {} : { meanings: protocol.meanings }),
        },
      ]
    }),
  )
}

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
}

/** The files that pages are made with, from the folder beside the console's sources. */
function readAssets(): Asset[] {
  const folder = join(import.meta.dirname, '..', 'console', 'assets')
  return readdirSync(folder)
    .sort()
    .map((name) => ({
      name,
      type: entryOf(TYPES, name.split('.').at(-1) ?? '') ?? 'application/octet-stream',
      bytes: new Uint8Array(readFileSync(join(folder, name))),
    }))
}

const runbooks = new Map<string, readonly string[]>()

/** The first steps of a page of `docs/runbooks`; none where there is no such page. */
function runbook(name: string): readonly string[] {
  const known = runbooks.get(name)
  if (known !== undefined) return known
  const steps = /^[A-Za-z]{1,60}$/.test(name) ? stepsOf(join(PROJECT, 'docs', 'runbooks', `${name}.md`)) : []
  runbooks.set(name, steps)
  return steps
}

function stepsOf(file: string): string[] {
  try {
    const [, todo = ''] = readFileSync(file, 'utf8').split('**First steps.**')
    return [...todo.matchAll(/^\d+\. (.*)$/gm)]
      .slice(0, MOST_STEPS)
      .map(([, step = '']) => step.replaceAll(/[`*]/g, ''))
  } catch {
    return []
  }
}
