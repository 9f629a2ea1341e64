package evaluations

// Level is that of tests and intervals: 1 minus the confidence.
const Level = 0.05
