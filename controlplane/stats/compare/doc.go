// Package compare compares two or more sides over the same items: paired differences, gates of non-inferiority, and the
// items and repeats that a decision needs.
package compare
