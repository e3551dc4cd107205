import { answersAppeals } from './appeals.ts'

answersAppeals('SQLite', () => ({}))
