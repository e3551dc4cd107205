import { randomUUID } from 'node:crypto'
import { chmodSync, readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { loadSettings } from '../../../../config/load.ts'
import type { Settings } from '../../../../config/schema.ts'
import { topicsOf } from '../../../../config/topics.ts'
import { auditProducer } from '../../../../producers/audit.ts'
import { kafkaWriter } from '../../../../producers/kafka-writer.ts'
import type { Invocation } from '../../../cli/command.ts'
import type { AuditEntry } from '../../../contracts/facts/audit.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { makeTopics } from '../../../operations/make-topics.ts'
import { protocolsOf } from '../../composition/protocols.ts'
import { readingClient } from '../reading-client.ts'

/** A change to the settings file, and how the audit names it. */
interface SettingsChange {
  /** The file's text, of the text that it has. */
  readonly text: (before: string) => string
  /** Whether the settings are as they were meant. */
  readonly isDone: (next: Settings) => boolean
  readonly by: string
  readonly page: string
}

/**
 * Changes the file of `--config`, once it is noted in the audit who did. Throws an `OperatorError`, and changes nothing, if the new
 * settings have a fault, and if somebody else changed the file meanwhile: where that was while it was noted, the audit says then that it
 * was refused.
 */
export async function changeSettings(
  file: string,
  { text, isDone, by, page }: SettingsChange,
  invocation: Pick<Invocation, 'environment' | 'terminal' | 'settings'>,
): Promise<void> {
  const before = readFileSync(file, 'utf8')
  // Of its own: another command may change the same file. A link stays a link.
  const target = realpathSync(file)
  const fresh = `${target}.${randomUUID()}.new`
  try {
    writeFileSync(fresh, text(before), { mode: 0o600 })
    // Whoever may read the file may read the new one, whatever new files are of this process.
    chmodSync(fresh, statSync(file).mode)
    const next = loadSettings(invocation.environment, fresh)
    protocolsOf(next, '')
    if (!isDone(next)) throw new OperatorError(`${file} sets it in another way: change it by hand.`)
    const isSame = () => readFileSync(file, 'utf8') === before
    const isNoted = isSame()
    if (isNoted) await note(invocation.settings(), { by, page, what: 'did' }, invocation)
    if (!isSame()) {
      if (isNoted) await note(invocation.settings(), { by, page, what: 'refused' }, invocation)
      throw new OperatorError(`${file} was changed meanwhile, and stays as it is: look at it, and try again.`)
    }
    renameSync(fresh, target)
  } finally {
    rmSync(fresh, { force: true })
  }
}

/** What is not in the audit is not done. */
async function note(
  settings: Settings,
  of: Pick<AuditEntry, 'by' | 'page' | 'what'>,
  { terminal }: Pick<Invocation, 'terminal'>,
) {
  const kafka = await readingClient(settings, terminal)
  await makeTopics(kafka, settings)
  const writer = await kafkaWriter(kafka, settings.kafka.compression)
  try {
    const at = new Date().toISOString()
    await auditProducer({ writer, topic: topicsOf(settings).audit }).note({
      schema: 1,
      at,
      ...of,
      session: '',
      verdicts: [],
      more: 0,
    })
  } finally {
    await writer.close()
  }
}
