import { endsWithATrueBill } from './faults.ts'

endsWithATrueBill(10)
