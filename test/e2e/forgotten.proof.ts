import './forgotten.test.ts'
