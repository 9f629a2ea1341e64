// Package textmetrics measures how alike two texts are: token F1, BLEU, ROUGE, longest common subsequence.
package textmetrics
