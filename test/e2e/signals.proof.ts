import './signals.test.ts'
