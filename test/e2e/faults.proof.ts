import { endsWithATrueBill } from './faults.ts'

endsWithATrueBill(Number(process.env.GAVEL_PROOF_SUBJECTS ?? 150))
