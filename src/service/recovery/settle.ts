import { snapshot, type ThreadRef } from '../domain/thread.ts'
import { snapshotOf, versionSeenBy } from '../engine/new-case.ts'
import { nothingNew, type PublishedSubject, seenIn, subjectKey } from './published.ts'
import { type Run, sideBySide } from './run.ts'

/** Notes what each revision has already seen, so that it is not judged again. */
export async function settleRevisions(
  run: Run,
  live: readonly PublishedSubject[],
  touched: ReadonlyMap<string, ThreadRef>,
): Promise<void> {
  const known = new Map(live.map((subject) => [subjectKey(subject.ref), subject]))
  const refs = new Map([...touched, ...live.map(({ ref }) => [subjectKey(ref), ref] as const)])
  await sideBySide(run, [...refs], 'threads looked at', ([key, ref]) => settleSubject(run, ref, known.get(key)))
}

async function settleSubject(run: Run, ref: ThreadRef, known: PublishedSubject | undefined): Promise<void> {
  const { threads, cases, store, protocols, settings } = run
  const { checkpoints } = settings
  const state = await threads.read(ref)
  if (state === null || state.post === null) return
  for (const [name, { revision, openId, final }] of state.revisions) {
    const protocol = protocols.find((one) => one.name === name)
    if (protocol === undefined) continue
    const last = known?.last.get(name)
    const record = openId === null ? undefined : (await cases.peek(openId))?.record
    const openSaw = snapshot.safeParse(record?.subject)
    const before =
      record !== undefined && openSaw.success && record.revision === revision
        ? seenIn(openSaw.data)
        : last?.number === revision
          ? last.seen
          : null
    const now = seenIn(snapshotOf(protocol, state, state.post, { checkpoints }).subject)
    const sealed = protocol.subject === 'thread' && final && !checkpoints.reopen
    if (nothingNew(before, now, sealed))
      await store.settle(ref, {
        protocol: name,
        revision,
        version: state.version,
        seen: versionSeenBy(protocol, state),
      })
  }
}
