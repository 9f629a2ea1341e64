// Package formula evaluates arithmetic formulas over named scores.
package formula
