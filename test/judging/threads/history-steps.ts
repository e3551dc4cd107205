export const PROTOCOLS = ['rumor', 'hate'] as const
export type Protocol = (typeof PROTOCOLS)[number]

type OfThread<Do extends string, More = object> = { do: Do; thread: number } & More
type OfCase<Do extends string, More = object> = OfThread<Do, { protocol: Protocol } & More>
export type PlaceStep = { topic: string | null; partition: number; offset: number; anew: boolean } | null

/** So many bytes more than it holds may the tenant hold, if it is limited. */
export type RoomStep = number | null

export interface ChangeStep {
  deleted: boolean
  id: number
  text: number
  author: string | null
  time: 'early' | 'edge' | 'beyond'
  place: PlaceStep
}

/** One step of a history: what happens to which of its threads. */
export type Step =
  | { do: 'nothing' }
  | OfThread<
      'post',
      {
        text: number
        reach?: number
        routing: 'threaded' | 'both' | 'alone' | 'nobody'
        place: PlaceStep
        room: RoomStep
      }
    >
  | OfThread<'reach', { reach: number }>
  | { do: 'order due'; hold: boolean }
  | OfThread<'comments', { changes: ChangeStep[]; room: RoomStep }>
  /** All ids at once. */
  | OfThread<'flood', { deleted: boolean }>
  | OfThread<'delete', { room: RoomStep }>
  | OfThread<'expire'>
  | { do: 'new key' }
  /** `stale`: as the thread was before the last case or the last comments. */
  | OfThread<
      'open',
      {
        stale: boolean
        cases: Protocol[]
        waiting: Protocol[]
        dormant: Protocol[]
        absent: Protocol[]
        next: boolean
        final: boolean
      }
    >
  /** A case from its opening, or from where it is, to its publication. */
  | OfCase<'judge', { final: boolean }>
  | OfCase<'take'>
  | OfCase<'answer', { key: number; text: number }>
  | OfCase<'lose', { call: number }>
  | OfCase<'conclude', { carry: boolean; again: boolean; fenced: boolean }>
  | OfCase<
      'decide',
      { label: number; withdraw: boolean; wrong: boolean; force: boolean; opinion: boolean; repeated: boolean }
    >
  | OfCase<'restart', { fenced: boolean }>
  | OfCase<'restart unpublished', { changed: boolean; unseen: boolean }>
  | OfThread<'erase left', { known: boolean; keep: boolean }>
  | { do: 'hand out'; publisher: string }
  | { do: 'done'; which: number; all: boolean; forget: boolean }
  | { do: 'adopt'; publisher: string }
  | { do: 'pause' | 'resume' | 'wake'; protocol: Protocol }
  | OfThread<'link', { reply: number }>
  | { do: 'part'; worked: Protocol[] }
  | { do: 'due'; limit: number; maxOpen: number }
