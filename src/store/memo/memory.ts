import type { ThreadRef } from '../../contracts/facts/thread.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import type { KeptAnswer, Memo, MemoEntry, MemoLookup } from '../../contracts/ports/memo.ts'

// The twin of redis.ts and the Lua beside it: test/contracts/memo.ts holds both to the same promises.

interface StoredQuestion {
  /** The entry is JSON. */
  answer: { readonly entry: string; readonly expiresAt: number } | null
  lease: { readonly holder: string; readonly expiresAt: number; isAwaited: boolean } | null
  readonly subjects: Set<string>
}

/** Most questions stored: above this the oldest is evicted early. */
const MAX_QUESTIONS = 20_000

/** The memo in memory: the same promises within one process. */
export function memoryMemo(clock: Clock): Memo {
  const questions = new Map<string, StoredQuestion>()
  const bySubject = new Map<string, Set<string>>()
  const quiet = new Map<string, number>()

  const isQuiet = (subject: string) => (quiet.get(subject) ?? 0) > clock()
  function note(key: string, question: StoredQuestion, subject: string) {
    question.subjects.add(subject)
    bySubject.set(subject, (bySubject.get(subject) ?? new Set()).add(key))
  }
  function drop(key: string): boolean {
    const question = questions.get(key)
    questions.delete(key)
    for (const subject of question?.subjects ?? []) {
      const keys = bySubject.get(subject)
      if (keys?.delete(key) && keys.size === 0) bySubject.delete(subject)
    }
    return question?.answer != null
  }
  function find(key: string): StoredQuestion | undefined {
    const question = questions.get(key)
    if (question === undefined || question.answer === null || question.answer.expiresAt > clock()) return question
    drop(key)
    return undefined
  }
  function begin(key: string): StoredQuestion {
    const question: StoredQuestion = { answer: null, lease: null, subjects: new Set() }
    questions.set(key, question)
    const [oldest] = questions.keys()
    if (questions.size > MAX_QUESTIONS && oldest !== undefined) drop(oldest)
    return question
  }

  function lookUp(key: string, holder: string, leaseMs: number, subject: string, overwrite: boolean): MemoLookup {
    let found = find(key)
    if (found?.answer != null && !overwrite) {
      if (!isQuiet(subject)) note(key, found, subject)
      return { state: 'known', entry: JSON.parse(found.answer.entry) as MemoEntry }
    }
    if (isQuiet(subject)) return { state: 'leased' }
    if (found?.answer != null) {
      drop(key)
      found = undefined
    }
    const question = found ?? begin(key)
    note(key, question, subject)
    const expiresInMs =
      question.lease === null || question.lease.holder === holder ? 0 : question.lease.expiresAt - clock()
    if (expiresInMs > 0 && question.lease !== null) {
      question.lease.isAwaited = true
      return { state: 'leased-by-other', expiresInMs }
    }
    question.lease = { holder, expiresAt: clock() + leaseMs, isAwaited: false }
    return { state: 'leased' }
  }
  function keep({ key, entry }: KeptAnswer, holder: string, keepMs: number, subject: string): boolean {
    const question = find(key)
    if (question === undefined) return false
    if (question.lease?.holder !== holder) return question.answer?.entry === entry
    question.lease = null
    question.answer = { entry, expiresAt: clock() + keepMs }
    note(key, question, subject)
    return true
  }

  return {
    async lookUp(keys, holder, leaseMs, ref, { overwrite } = { overwrite: false }) {
      return keys.map((key) => lookUp(key, holder, leaseMs, nameOf(ref), overwrite))
    },
    async keep(answers, holder, keepMs, ref) {
      return answers.map((answer) => keep(answer, holder, keepMs, nameOf(ref)))
    },
    async share(keys, ref) {
      if (isQuiet(nameOf(ref))) return false
      for (const key of keys) {
        const question = find(key)
        if (question?.answer != null) note(key, question, nameOf(ref))
      }
      return true
    },
    async release(keys, holder) {
      for (const key of keys) if (questions.get(key)?.lease?.holder === holder) drop(key)
    },
    async releaseUnlessAwaited(keys, holder) {
      const own = keys.filter((key) => questions.get(key)?.lease?.holder === holder)
      if (own.some((key) => questions.get(key)?.lease?.isAwaited)) return false
      for (const key of own) drop(key)
      return true
    },
    async renew(leased, leaseMs) {
      return leased.map(({ key, holder }) => {
        const question = questions.get(key)
        if (question?.lease?.holder !== holder) return false
        question.lease = { ...question.lease, expiresAt: clock() + leaseMs }
        return true
      })
    },
    async forget(ref, quietMs) {
      const subject = nameOf(ref)
      if (quietMs > 0) quiet.set(subject, clock() + quietMs)
      return [...(bySubject.get(subject) ?? [])].filter(drop).length
    },
  }
}

function nameOf({ tenant, kind, postId }: ThreadRef): string {
  return `${tenant}/${kind}:${postId}`
}
