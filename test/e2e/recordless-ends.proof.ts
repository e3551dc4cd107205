import './recordless-ends.test.ts'
