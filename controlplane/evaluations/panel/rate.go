package panel

// Rate returns the score of a value from 0 to 1, nil for categories that do not pass or fail, and whether it passes, nil if nothing does.
func (in *Input) Rate(value float64) (score *float64, pass *bool) {
	x := in.normalize(value)
	return pointer(x), in.pass(x)
}

// Winner is the winner of a preference by its score: a, b or tie.
func Winner(score float64) string {
	switch {
	case score < .5:
		return "a"
	case score > .5:
		return "b"
	}
	return "tie"
}
