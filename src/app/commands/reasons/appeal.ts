import type { Command } from '../../../cli/command.ts'
import { printable } from '../../../cli/terminal.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { appealText } from '../../../record/appeal-text.ts'
import { recordReaderOf } from '../../../record/record-store.ts'
import { measuresAt } from '../../../record/statement-basis.ts'
import type { StatementLanguage } from '../../../record/statement-words.ts'
import { statementTexts } from '../../composition/statement-texts.ts'
import { LANGUAGE_OPTION, TENANT_OPTION } from './reasons.ts'

interface Options {
  readonly lang: StatementLanguage
  readonly tenant: string
}

/** `gavel reasons appeal`: a person's answer to an appeal, as the one who appealed reads it. */
export const command: Command<Options, string> = {
  options: [LANGUAGE_OPTION, TENANT_OPTION],
  json: false,
  help: 'It has ids, dates and words of the map alone: no word of people. See docs/appeals.md.\n\nExample:\n  $ gavel reasons appeal e1 --lang de',
  async run({ args: [id = ''], options: { lang, tenant }, settings: read }) {
    const settings = read()
    const record = await recordReaderOf(settings)
    try {
      const [found] = await record.appeals(tenant, { id })
      if (found === undefined)
        throw new OperatorError(`The record has no appeal ${printable(id, 200)} (tenant ${printable(tenant, 100)}).`)
      const text = appealText(found, await measuresAt(record, found), statementTexts(lang, settings.review.statements))
      if (typeof text === 'string') return text
      throw new OperatorError(`No answer to ${printable(id, 200)}. It lacks ${printable(text.join('; '), 1_000)}.`)
    } finally {
      await record.close()
    }
  },
  print(text, { terminal }) {
    terminal.out(text)
  },
}
