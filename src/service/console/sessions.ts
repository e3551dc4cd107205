import { hash, randomBytes } from 'node:crypto'
import type { Clock } from '../ports/clock.ts'

/** Who is signed in. */
export interface Session {
  /** The person: decisions name it. */
  readonly by: string
  /** What a form of this session holds, so that no other page can send it. */
  readonly token: string
  /** Whose subjects they see; absent: all. */
  readonly tenants?: readonly string[]
  /** Aborts when it is ended. */
  readonly ended: AbortSignal
  /** Whether it has neither been ended nor run out; asking keeps no session from being idle. */
  isOpen(): boolean
}

export interface SessionSettings {
  /** A session ends when nothing was asked for so long, in ms… */
  readonly idle: number
  /** …and so long after signing in at the latest, in ms. */
  readonly longest: number
}

/** How long a link to sign in can be used, in ms. */
const LINK_MS = 600_000
/** Most sessions and links at a time: the oldest ends. */
const MOST = 1_000

interface Open {
  readonly session: Session
  readonly until: number
  seen: number
  readonly ending: AbortController
}

/** Sessions and the links that open them, in this process: they end with it. Only hashes of what opens a door are kept. */
export class Sessions {
  readonly #settings: SessionSettings
  readonly #clock: Clock
  readonly #links = new Map<string, { by: string; until: number }>()
  readonly #open = new Map<string, Open>()

  constructor(settings: SessionSettings, clock: Clock) {
    this.#settings = settings
    this.#clock = clock
  }

  /** A secret that signs this person in, once. */
  link(by: string): string {
    const secret = newSecret()
    this.#links.set(digest(secret), { by, until: this.#clock() + LINK_MS })
    keepNewest(this.#links)
    return secret
  }

  /** Whether a link can still be used; it stays as it is. */
  isGood(secret: string): boolean {
    return (this.#links.get(digest(secret))?.until ?? 0) > this.#clock()
  }

  /** Uses up a link: the id of the session that it opens; null if it was used, is too old, or never was. */
  open(secret: string): string | null {
    const [name, now] = [digest(secret), this.#clock()]
    const link = this.#links.get(name)
    this.#links.delete(name)
    if (link === undefined || link.until <= now) return null
    const id = newSecret()
    const own = digest(id)
    const ending = new AbortController()
    const isOpen = () => this.#standing(own) !== null
    const session = { by: link.by, token: newSecret(), ended: ending.signal, isOpen }
    this.#open.set(own, { session, until: now + this.#settings.longest, seen: now, ending })
    keepNewest(this.#open, (oldest) => this.#end(oldest))
    return id
  }

  /** The session of this id, which is not idle from now on; null if there is none, or it has ended. */
  read(id: string): Session | null {
    const found = this.#standing(digest(id))
    if (found === null) return null
    found.seen = this.#clock()
    return found.session
  }

  end(id: string): void {
    this.#end(digest(id))
  }

  /** Ends all sessions of a person. */
  endAll(by: string): void {
    for (const [name, { session }] of this.#open) if (session.by === by) this.#end(name)
  }

  #standing(name: string): Open | null {
    const now = this.#clock()
    const found = this.#open.get(name)
    if (found === undefined) return null
    if (found.until > now && found.seen + this.#settings.idle > now) return found
    this.#end(name)
    return null
  }

  #end(name: string): void {
    const ending = this.#open.get(name)?.ending
    this.#open.delete(name)
    ending?.abort()
  }
}

function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

function digest(secret: string): string {
  return hash('sha256', secret, 'base64url')
}

function keepNewest(all: Map<string, unknown>, end = (name: string): unknown => all.delete(name)): void {
  for (const name of all.keys()) {
    if (all.size <= MOST) return
    end(name)
  }
}
