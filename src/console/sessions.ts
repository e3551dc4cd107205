import { hash, randomBytes } from 'node:crypto'
import { type Grant, tenantsOf } from '../contracts/facts/person-roles.ts'
import type { Clock } from '../contracts/ports/clock.ts'

/** Who is signed in. */
export interface Session {
  /** The person: decisions name it. */
  readonly by: string
  /** What a form of this session holds, so that no other page can send it. */
  readonly token: string
  /** What they may do. */
  readonly grants: readonly Grant[]
  /** Whose subjects they see; in what a page is asked, those alone over which they have its right. Absent: all. */
  readonly tenants?: readonly string[] | undefined
  /** Names the session where what was seen in it is noted; opens nothing. */
  readonly name: string
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

/** Who a session is opened for. */
interface Who {
  readonly by: string
  readonly grants: readonly Grant[]
}

/** How long a link to sign in can be used, in ms. */
const LINK_MS = 600_000
/** Most sessions and links at a time, and sessions of one person: the oldest ends. */
const [MOST, MOST_OF_ONE] = [1_000, 20]
/** Who has a printed link has the machine that it was printed on. */
const OWNER: readonly Grant[] = [{ role: 'admin' }]

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

  /** Uses up a link: whom it signs in; null if it was used, is too old, or never was. */
  used(secret: string): Who | null {
    const name = digest(secret)
    const link = this.#links.get(name)
    this.#links.delete(name)
    return link === undefined || link.until <= this.#clock() ? null : { by: link.by, grants: OWNER }
  }

  /** Opens a session: its id, which is nowhere else. */
  open(who: Who): string {
    const id = newSecret()
    this.#opened(digest(id), who)
    return id
  }

  /** The session of this id; null if there is none, or it has ended. It is not idle from now on, unless the asking renews nothing. */
  read(id: string, { renews = true }: { renews?: boolean } = {}): Session | null {
    const name = digest(id)
    return renews ? this.#renewed(name) : (this.#standing(name)?.session ?? null)
  }

  /** The session of who is named anew with each request, as a proxy does; without a cookie. */
  of(who: Who): Session {
    const name = digest(JSON.stringify(['named', who.by, who.grants]))
    return this.#renewed(name) ?? this.#opened(name, who)
  }

  end(id: string): void {
    this.#end(digest(id))
  }

  /** Who is signed in here. */
  present(): Who[] {
    return [...this.#open.keys()].flatMap((name) => this.#standing(name)?.session ?? [])
  }

  /** Ends all sessions of a person. */
  endAll(by: string): void {
    for (const [name, { session }] of this.#open) if (session.by === by) this.#end(name)
  }

  #opened(own: string, { by, grants }: Who): Session {
    const now = this.#clock()
    const ending = new AbortController()
    const tenants = tenantsOf(grants, 'see')
    const session: Session = {
      by,
      grants,
      token: tokenOf(by),
      name: digest(own).slice(0, 16),
      ended: ending.signal,
      tenants,
      isOpen: () => this.#open.get(own)?.session === session && this.#standing(own) !== null,
    }
    this.#open.set(own, { session, until: now + this.#settings.longest, seen: now, ending })
    // A person who signs in again and again ends no other person's sessions.
    const theirs = [...this.#open].flatMap(([name, one]) => (one.session.by === by ? [name] : []))
    for (const name of theirs.slice(0, -MOST_OF_ONE)) this.#end(name)
    keepNewest(this.#open, (oldest) => this.#end(oldest))
    return session
  }

  #renewed(name: string): Session | null {
    const found = this.#standing(name)
    if (found === null) return null
    found.seen = this.#clock()
    return found.session
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

/** What forms of a session hold: a secret, and whose they are, also when the session is over. */
function tokenOf(by: string): string {
  return `${newSecret()}.${whose(by)}`
}

/** Whether a form was made for this person, in whichever session. */
export function isFormOf(token: string | null, by: string): boolean {
  return token !== null && token.slice(token.indexOf('.') + 1) === whose(by)
}

function whose(by: string): string {
  return digest(`form of ${by}`).slice(0, 16)
}

export function newSecret(): string {
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
