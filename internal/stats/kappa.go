package stats

// byRater turns ratings[item][rater] into columns, of which there are two or more.
func byRater(ratings [][]float64) ([][]float64, Flag) {
	if len(ratings) == 0 || len(ratings[0]) < 2 {
		return nil, TooFew
	}
	columns := make([][]float64, len(ratings[0]))
	for _, row := range ratings {
		if len(row) != len(columns) {
			return nil, OutOfDomain
		}
		for j, x := range row {
			columns[j] = append(columns[j], x)
		}
	}
	return columns, ""
}
