import type { Settings } from '../../../config/schema.ts'
import type { VerdictForm, VerdictSchema } from '../../contracts/facts/verdict-fields.ts'
import { version } from '../../platform/package-folder.js'

/** How verdicts are written under these settings; by a command, into data of this form: none newer, whoever may read them there. */
export function verdictForm(
  { verdicts }: Pick<Settings, 'verdicts'>,
  most: VerdictSchema = verdicts.schema,
): VerdictForm {
  return { schema: most === 1 ? 1 : verdicts.schema, gavel: version() }
}
