import { renameSync, writeFileSync } from 'node:fs'
import { Option } from 'commander'
import type { Command } from '../../../cli/command.ts'
import { counted } from '../../../cli/terminal.ts'
import { packed } from '../../../models/vetoes/hash-list.ts'

interface PackedList {
  readonly file: string
  readonly hashes: number
  readonly bytes: number
}

/** `gavel veto pack`: makes a long list of hashes one of which none is held in memory. */
export const command: Command<{ readonly out: string }, PackedList> = {
  options: [new Option('--out <file>', 'where the packed list goes').makeOptionMandatory()],
  json: true,
  help: 'The packed list holds each hash once, in order: 32 bytes a hash. Packing holds two copies of them in memory. It replaces the file whole: have a service that uses it reload (SIGHUP). See docs/vetoes.md.\n\nExample:\n  $ gavel veto pack known.txt --out known.bin',
  async run({ args: [file = ''], options: { out } }) {
    const { bytes, entries } = await packed(file)
    // A service that has the list open goes on with the old one until it reloads.
    writeFileSync(`${out}.new`, bytes)
    renameSync(`${out}.new`, out)
    return { file: out, hashes: entries, bytes: bytes.length }
  },
  print(made, { json, terminal }) {
    if (json) terminal.out(JSON.stringify(made))
    else terminal.out(`${made.file}: ${counted(made.hashes, 'entry')}, ${made.bytes} bytes.`)
  },
}
