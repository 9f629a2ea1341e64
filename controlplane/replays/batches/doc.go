// Package batches replays many runs with the same edits: it owns batches, which runs are in one, how they are planned and made as one job with one
// budget, and what they show together. A replay of a batch is one of package replays.
package batches
